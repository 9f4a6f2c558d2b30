//! Decides which request goes when; is told the time, never asks for it
