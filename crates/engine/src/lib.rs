//! Assembly: workers, clock, guard, signals, progress
