//! The whole firmware of a board.

/// The whole firmware: models, arena, entry, and the handler of panics, which exceptions end in too.
///
/// The board's crate depends on `esp-hal`, whose attributes ask for it by name.
#[macro_export]
macro_rules! firmware {
    () => {
        use $crate::app::Buffers;
        use $crate::app::latimer::Arena;

        $crate::app::models!($crate::flashed_models);

        // What the bootloader looks for at the start of the image. No time of build: the same sources give the same image.
        $crate::esp_bootloader_esp_idf::esp_app_desc!(
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_NAME"),
            "-",
            "-",
            $crate::esp_bootloader_esp_idf::ESP_IDF_COMPATIBLE_VERSION,
            $crate::esp_bootloader_esp_idf::MMU_PAGE_SIZE,
            0,
            u16::MAX,
            $crate::esp_bootloader_esp_idf::SECURE_VERSION
        );

        #[esp_hal::main]
        fn main() -> ! {
            static mut ARENA: Arena<{ models::ARENA_BYTES }> = Arena::new();
            static mut BUFFERS: Buffers = Buffers::new();
            let mut board = $crate::Board::start();
            let (arena, buffers) = (&raw mut ARENA, &raw mut BUFFERS);
            // SAFETY: the entry function runs once, and the statics are known to it alone.
            let (arena, buffers) = unsafe { (&mut *arena, &mut *buffers) };
            $crate::app::run(&mut board, models::models(), arena.as_mut(), buffers)
        }

        #[panic_handler]
        fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
            // SAFETY: nothing that had the devices before runs again.
            let mut board = unsafe { $crate::Board::seize() };
            $crate::app::fail(&mut board, info)
        }
    };
}
