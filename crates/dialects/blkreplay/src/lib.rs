//! blkreplay
