//! Boards, and images for their flash, read back by readers that know nothing of the writers.

use latimer::blob::find;
use model_gen::aligned::AlignedBytes;
use model_gen::boards::{BOARDS, Board, Format, fit, image};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Bytes of a memory by their addresses.
type Memory = BTreeMap<u32, u8>;

fn put(memory: &mut Memory, at: u32, bytes: &[u8]) {
    for (address, &byte) in (at..).zip(bytes) {
        assert!(memory.insert(address, byte).is_none(), "{address:#x} written twice");
    }
}

/// What a boot loader of `family` would write.
fn read_uf2(file: &[u8], family: u32) -> Memory {
    let mut memory = Memory::new();
    assert_eq!(file.len() % 512, 0);
    let count = file.len() / 512;
    for (number, block) in file.chunks(512).enumerate() {
        let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        assert_eq!([word(0), word(4), word(508)], [0x0A32_4655, 0x9E5D_5157, 0x0AB1_6F30]);
        assert_eq!([word(8), word(16), word(28)], [0x2000, 256, family]);
        assert_eq!([word(20), word(24)], [number as u32, count as u32]);
        assert_eq!(word(12) % 256, 0, "flash is written by whole pages");
        put(&mut memory, word(12), &block[32..288]);
    }
    memory
}

fn read_hex(text: &str) -> Memory {
    let (mut memory, mut upper, mut ended) = (Memory::new(), 0u32, false);
    for line in text.lines() {
        assert!(!ended, "nothing follows the end");
        let digits = line.strip_prefix(':').unwrap();
        let bytes: Vec<u8> =
            (0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap()).collect();
        assert_eq!(bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)), 0, "{line}");
        let [len, high, low, kind, data @ .., _] = &bytes[..] else { panic!("{line}") };
        assert_eq!(*len as usize, data.len());
        match kind {
            0 => {
                let at = u32::from_be_bytes([0, 0, *high, *low]);
                assert!(at + data.len() as u32 <= 0x1_0000, "{line}");
                put(&mut memory, upper + at, data);
            }
            1 => ended = true,
            4 => upper = u32::from_be_bytes([data[0], data[1], 0, 0]),
            _ => panic!("{line}"),
        }
    }
    assert!(ended);
    memory
}

fn same(memory: &Memory, at: u32, flash: &[u8]) {
    for (address, &byte) in (at..).zip(flash) {
        assert_eq!(memory.get(&address), Some(&byte), "{address:#x}");
    }
    // What is written past the models is erased flash.
    assert!(memory.range(at + flash.len() as u32..).all(|(_, &byte)| byte == 0xFF));
    assert_eq!(memory.range(..at).count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn images_hold_the_bytes_at_their_address(flash in proptest::collection::vec(any::<u8>(), 1..3000)) {
        for board in BOARDS {
            let address = board.model_address;
            if let Format::Uf2 { family } = board.format {
                let file = image::write(board, board.format, &flash).unwrap();
                same(&read_uf2(&file, family), address, &flash);
            }
            let file = image::write(board, Format::Hex, &flash).unwrap();
            same(&read_hex(std::str::from_utf8(&file).unwrap()), address, &flash);
            prop_assert_eq!(image::write(board, Format::Bin, &flash).unwrap(), flash.clone());
        }
    }
}

/// A megabyte and more crosses many borders of 64 KB.
#[test]
fn hex_goes_past_the_upper_half_of_an_address() {
    let board = Board::find("nucleo-h743zi").unwrap();
    let flash: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
    let file = image::write(board, Format::Hex, &flash).unwrap();
    same(&read_hex(std::str::from_utf8(&file).unwrap()), board.model_address, &flash);
}

#[test]
fn a_firmware_finds_every_model_of_an_image() {
    let blob = latimer::include_blob!("../../src/example.blob");
    for board in BOARDS {
        let flash = image::lay_out(board, &[blob, blob, blob]);
        let flash = AlignedBytes::copy_of(&flash);
        assert_eq!(find(&flash).collect::<Vec<_>>(), [blob; 3], "{}", board.name);
    }
}

#[test]
fn what_does_not_fit_is_told_in_bytes() {
    let board = Board::find("nrf52840-dk").unwrap();
    let fits = fit(board, board.model_bytes, 50_000);
    assert!(fits.obstacles.is_empty(), "{fits:?}");
    let misfit = fit(board, board.model_bytes + 1, 300_000);
    let flash = format!("needs {} bytes of flash for models, has {}", board.model_bytes + 1, board.model_bytes);
    assert_eq!(misfit.obstacles.len(), 2, "{misfit:?}");
    assert_eq!(misfit.obstacles[0], flash);
    let error = image::write(board, Format::Bin, &vec![0; board.model_bytes + 1]).unwrap_err().to_string();
    assert!(error.contains("--fit-flash"), "{error}");
}

#[test]
fn every_board_is_one_of_its_own() {
    let names: std::collections::BTreeSet<_> = BOARDS.iter().map(|board| board.name).collect();
    assert_eq!(names.len(), BOARDS.len());
    for board in BOARDS {
        assert!(board.model_address.is_multiple_of(16) && board.page.is_power_of_two(), "{}", board.name);
        assert!(board.model_bytes > 500_000 && board.ram >= 256 * 1024, "{}", board.name);
    }
    assert!(Board::find("pico").unwrap_err().to_string().contains("pico2-arm"));
}
