//! Which pages a piece of flash has, and where there is room to map them.

/// Bytes of a page of the cache.
pub const PAGE: usize = 64 * 1024;

/// The pages that a piece of flash lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Number of the first.
    pub page: usize,
    /// How many.
    pub pages: usize,
    /// Bytes before the piece in the first.
    pub skip: usize,
}

/// The pages of `bytes` bytes from `offset` on; none if that is beyond all addresses.
pub fn span(offset: usize, bytes: usize) -> Option<Span> {
    let (page, skip) = (offset / PAGE, offset % PAGE);
    let pages = skip.checked_add(bytes)?.div_ceil(PAGE);
    Some(Span { page, pages, skip })
}

/// The first row of `pages` free ones in a table of `rows`.
pub fn free_run(rows: usize, pages: usize, is_free: impl Fn(usize) -> bool) -> Option<usize> {
    let mut first = 0;
    for row in 0..rows {
        if row - first == pages {
            break;
        }
        if !is_free(row) {
            first = row + 1;
        }
    }
    (first + pages <= rows).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_may_begin_and_end_within_pages() {
        assert_eq!(span(0x10_0000, 0x30_0000), Some(Span { page: 16, pages: 48, skip: 0 }));
        assert_eq!(span(0x10_1000, 0x1_0000), Some(Span { page: 16, pages: 2, skip: 0x1000 }));
        assert_eq!(span(0x1_ffff, 1), Some(Span { page: 1, pages: 1, skip: 0xffff }));
        assert_eq!(span(1, usize::MAX), None);
    }

    #[test]
    fn finds_the_first_gap_that_is_wide_enough() {
        let used = [true, false, true, false, false, true, false, false, false];
        let run = |pages| free_run(used.len(), pages, |row| !used[row]);
        assert_eq!([run(1), run(2), run(3), run(4)], [Some(1), Some(3), Some(6), None]);
        assert_eq!(free_run(4, 4, |_| true), Some(0));
        assert_eq!(free_run(4, 5, |_| true), None);
        assert_eq!(free_run(4, 1, |_| false), None);
    }
}
