//! Archive or load to Summary; every statistic a mergeable partial
