//! Huge pages for large tables.

use crate::buffer::HUGE_PAGE;

/// An empty vector with room for `capacity` elements, in huge pages where the kernel grants them to madvise(2)
/// (`transparent_hugepage` is `madvise` or `always`): filling a large table then takes fewer page faults, and reading it at random
/// has fewer TLB misses. Nothing else depends on it.
pub fn vec_for_huge_pages<T>(capacity: usize) -> Vec<T> {
    let mut vec = Vec::with_capacity(capacity);
    let room = vec.spare_capacity_mut().as_mut_ptr_range();
    let begin = room.start.addr().next_multiple_of(HUGE_PAGE);
    let end = room.end.addr() / HUGE_PAGE * HUGE_PAGE;
    if begin < end {
        // SAFETY: the range lies inside an allocation that is ours alone, and the advice changes neither what is in it
        // nor who may reach it. A kernel that refuses leaves small pages.
        unsafe { libc::madvise(room.start.with_addr(begin).cast(), end - begin, libc::MADV_HUGEPAGE) };
    }
    vec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocates_any_number_of_elements_of_any_size() {
        for capacity in [0, 1, 1 << 10, (1 << 22) + 3] {
            let mut vec = vec_for_huge_pages::<u32>(capacity);
            assert!(vec.is_empty() && vec.capacity() >= capacity);
            vec.extend(0..capacity as u32);
            assert!(vec.iter().enumerate().all(|(i, n)| i == *n as usize));
        }
        assert_eq!(vec_for_huge_pages::<()>(5).len(), 0);
    }
}
