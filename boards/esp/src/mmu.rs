//! Flash beside the program's, mapped into the address space.
//!
//! The cache reads flash by a table of pages of 64 KB. The bootloader fills in the program's own and leaves the rest invalid;
//! rows that are free are given to the models here. The ROM could do it too (`spi_flash_mmap`), but wants more of ESP-IDF's set
//! up first than this needs. With flash encryption the models would have to be encrypted, which this knows nothing of.
//!
//! Facts by the chip's Technical Reference Manual ("System and Memory") and ESP-IDF's `ext_mem_defs.h` and `mmu_ll.h`.

use core::ops::Range;

use crate::pages::{self, PAGE};
use crate::partition;

/// Where in flash the partition table is: within the first page.
const TABLE: Range<usize> = 0x8000..0x8c00;

unsafe extern "C" {
    /// Drops what the cache holds of these addresses; in ROM.
    fn Cache_Invalidate_Addr(address: u32, bytes: u32);
}

/// The partition of the models, by its label; empty if the partition table has none or it can't be mapped.
///
/// Call it once: each call takes free pages.
pub fn flashed_models() -> &'static [u8] {
    let table = map(0, PAGE).and_then(|page| page.get(TABLE));
    let partition = table.and_then(|table| partition::find(table, "model"));
    partition.and_then(|partition| map(partition.offset, partition.bytes)).unwrap_or_default()
}

/// Maps `bytes` bytes of flash from `offset` on, if so many pages in a row are free.
fn map(offset: usize, bytes: usize) -> Option<&'static [u8]> {
    let span = pages::span(offset, bytes)?;
    let first = pages::free_run(ROWS, span.pages, |row| !table::is_used(row))?;
    if span.page + span.pages > FLASH_PAGES {
        return None;
    }
    for i in 0..span.pages {
        table::set(first + i, span.page + i);
    }
    let start = MAPPED + first * PAGE;
    // SAFETY: a function of the ROM, for addresses that the table maps; nothing but reads from flash is cached there.
    unsafe { Cache_Invalidate_Addr(start as u32, (span.pages * PAGE) as u32) };
    let data = core::ptr::with_exposed_provenance::<u8>(start + span.skip);
    // SAFETY: the rows were free and stay set, so that these addresses are flash and are no other object's; nothing writes flash
    // while the firmware runs.
    Some(unsafe { core::slice::from_raw_parts(data, bytes) })
}

#[cfg(feature = "esp32c3")]
use c3 as table;
#[cfg(not(feature = "esp32c3"))]
use c6 as table;
use table::{FLASH_PAGES, MAPPED, ROWS};

/// The ESP32-C3's table: words at 0x600c5000, the page of flash in bits 0 to 7; bit 8 marks what is invalid.
#[cfg(feature = "esp32c3")]
mod c3 {
    use app::Register;

    /// Rows of the table.
    pub const ROWS: usize = 128;
    /// Pages of flash that a row can name.
    pub const FLASH_PAGES: usize = 256;
    /// Where the first row's page is read, on the data bus.
    pub const MAPPED: usize = 0x3c00_0000;
    const INVALID: u32 = 1 << 8;

    fn row(row: usize) -> Register<u32> {
        assert!(row < ROWS);
        // SAFETY: a row of the table.
        unsafe { Register::at(0x600c_5000 + 4 * row) }
    }

    pub fn is_used(index: usize) -> bool {
        row(index).read() & INVALID == 0
    }

    pub fn set(index: usize, page: usize) {
        row(index).write(page as u32);
    }
}

/// The ESP32-C6's table, behind two registers of SPI0: the row's number goes to 0x60002380, its content is at 0x6000237c, the
/// page of flash in bits 0 to 8; bit 9 marks what is valid.
#[cfg(not(feature = "esp32c3"))]
mod c6 {
    use app::Register;

    /// Rows of the table.
    pub const ROWS: usize = 256;
    /// Pages of flash that a row can name.
    pub const FLASH_PAGES: usize = 512;
    /// Where the first row's page is read.
    pub const MAPPED: usize = 0x4200_0000;
    const VALID: u32 = 1 << 9;

    fn row(row: usize) -> Register<u32> {
        // SAFETY: the register that chooses a row, and the one that has its content. Nothing else uses them once the bootloader
        // has ended.
        let (index, content) = unsafe { (Register::<u32>::at(0x6000_2380), Register::at(0x6000_237c)) };
        index.write(row as u32);
        content
    }

    pub fn is_used(index: usize) -> bool {
        row(index).read() & VALID != 0
    }

    pub fn set(index: usize, page: usize) {
        row(index).write(page as u32 | VALID);
    }
}
