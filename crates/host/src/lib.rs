//! Facts about this machine: environment, device identity, the write guard
