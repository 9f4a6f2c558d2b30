//! Sources of requests: recorded loads, patterns and filters
