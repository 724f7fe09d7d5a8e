//! Models alone, as images for a board's flash.

use super::{Board, Format};
use anyhow::{Result, ensure};

/// What UF2 calls its blocks' payload (Microsoft's UF2 specification): 256 bytes each, in blocks of 512.
const UF2_PAYLOAD: usize = 256;
const UF2_BLOCK: usize = 512;
const UF2_MAGIC: [u32; 3] = [0x0A32_4655, 0x9E5D_5157, 0x0AB1_6F30];
/// The block names a family of chips.
const UF2_HAS_FAMILY: u32 = 0x2000;

/// Bytes of one record of Intel HEX.
const HEX_RECORD: usize = 16;

/// Blobs one after the other, each at the start of a page, as a firmware finds them: [`latimer::blob::find`]. Between them flash
/// stays erased.
pub fn lay_out(board: &Board, blobs: &[&[u8]]) -> Vec<u8> {
    let mut flash = Vec::new();
    for blob in blobs {
        flash.resize(flash.len().next_multiple_of(board.page), 0xFF);
        flash.extend_from_slice(blob);
    }
    flash
}

/// `flash` as a file of that format, for the board's address.
///
/// # Errors
///
/// If it is more than the board has for models.
pub fn write(board: &Board, format: Format, flash: &[u8]) -> Result<Vec<u8>> {
    ensure!(
        flash.len() <= board.model_bytes,
        "{} has {} bytes of flash for models, {} are needed: see `model-gen pack --fit-flash`",
        board.name,
        board.model_bytes,
        flash.len()
    );
    let address = board.model_address;
    Ok(match format {
        Format::Bin => flash.to_vec(),
        Format::Uf2 { family } => uf2(address, family, flash),
        Format::Hex => hex([(address, flash)]).into_bytes(),
    })
}

/// UF2 of `flash` from an address on, for chips of a family.
pub fn uf2(address: u32, family: u32, flash: &[u8]) -> Vec<u8> {
    let chunks = flash.chunks(UF2_PAYLOAD);
    let count = chunks.len() as u32;
    let mut out = Vec::with_capacity(chunks.len() * UF2_BLOCK);
    for (number, chunk) in (0u32..).zip(chunks) {
        let start = out.len();
        let at = address + number * UF2_PAYLOAD as u32;
        let [first, second, last] = UF2_MAGIC;
        for word in [first, second, UF2_HAS_FAMILY, at, UF2_PAYLOAD as u32, number, count, family] {
            out.extend(word.to_le_bytes());
        }
        out.extend_from_slice(chunk);
        // The rest of the last payload stays erased, the rest of a block is zero.
        out.resize(start + 32 + UF2_PAYLOAD, 0xFF);
        out.resize(start + UF2_BLOCK - 4, 0);
        out.extend(last.to_le_bytes());
    }
    out
}

/// Intel HEX of pieces and their addresses.
///
/// Records (Intel's specification of 1988) of type 4 are for the upper half of addresses, of type 0 for bytes, of type 1 for the end.
pub fn hex<'p>(pieces: impl IntoIterator<Item = (u32, &'p [u8])>) -> String {
    let mut out = String::new();
    let mut record = |kind: u8, at: u16, bytes: &[u8]| {
        let mut line = vec![bytes.len() as u8];
        line.extend(at.to_be_bytes());
        line.push(kind);
        line.extend_from_slice(bytes);
        let sum = line.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        line.push(sum.wrapping_neg());
        out.push(':');
        line.iter().for_each(|byte| out.push_str(&format!("{byte:02X}")));
        out.push_str("\r\n");
    };
    let mut upper = None;
    for (mut at, mut rest) in pieces {
        while !rest.is_empty() {
            let half = (at >> 16) as u16;
            if upper != Some(half) {
                record(4, 0, &half.to_be_bytes());
                upper = Some(half);
            }
            // No record crosses into the next 64 KB.
            let room = HEX_RECORD.min(0x1_0000 - (at & 0xFFFF) as usize).min(rest.len());
            let (bytes, next) = rest.split_at(room);
            record(0, at as u16, bytes);
            (at, rest) = (at + room as u32, next);
        }
    }
    record(1, 0, &[]);
    out
}
