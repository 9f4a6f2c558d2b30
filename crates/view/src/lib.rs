//! Summary to text, PNG, SVG and HTML
