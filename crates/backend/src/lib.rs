//! Carries out operations: null, sim, threads
