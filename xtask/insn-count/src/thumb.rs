//! Classes of Thumb instructions (Armv7-M Architecture Reference Manual, A5; Armv8-M, C2.3), as far as counting needs.

use crate::class::{Class, Decoded, Marker, memory};

/// Length in bytes, from the first halfword.
pub fn length(first: u16) -> usize {
    if first >= 0xe800 { 4 } else { 2 }
}

/// Hints of the range that does nothing on any core.
pub fn marker(first: u16) -> Option<Marker> {
    match first {
        0xbfa0 => Some(Marker::Start),
        0xbfb0 => Some(Marker::Stop),
        _ => None,
    }
}

/// Decodes an instruction; `second` counts where it has one.
pub fn decode(first: u16, second: u16) -> Decoded {
    if length(first) == 2 { narrow(first) } else { wide(first, second) }
}

fn narrow(h: u16) -> Decoded {
    let bit11 = h & 0x0800 != 0;
    Decoded::of(match h >> 12 {
        0b0100 if h & 0xffc0 == 0x4340 => Class::Multiply,
        // BX, BLX, and MOV to the program counter.
        0b0100 if h & 0xff00 == 0x4700 || h & 0xff87 == 0x4687 => Class::Branch,
        0b0100 if bit11 => Class::Load,
        0b0101 => memory(h >> 9 & 7 >= 3),
        0b0110..=0b1001 => memory(bit11),
        0b1011 => return miscellaneous(h),
        0b1100 => return Decoded::multiple(bit11, (h & 0xff).count_ones()),
        0b1101 if h >> 8 & 0xf >= 0xe => Class::Other,
        0b1101 | 0b1110 => Class::Branch,
        _ => Class::Alu,
    })
}

fn miscellaneous(h: u16) -> Decoded {
    match h >> 8 & 0xf {
        0b0100 | 0b0101 => Decoded::multiple(false, (h & 0x1ff).count_ones()),
        0b1100 | 0b1101 => Decoded::multiple(true, (h & 0x1ff).count_ones()),
        // Compare and branch on zero.
        0b0001 | 0b0011 | 0b1001 | 0b1011 => Decoded::of(Class::Branch),
        // Breakpoint; IT and hints.
        0b1110 | 0b1111 => Decoded::of(Class::Other),
        _ => Decoded::of(Class::Alu),
    }
}

fn wide(h: u16, k: u16) -> Decoded {
    let load = h & 0x10 != 0;
    Decoded::of(match h >> 8 {
        0xe8 | 0xe9 if h & 0x40 == 0 => return Decoded::multiple(load, k.count_ones()),
        // Table branches.
        0xe8 if h & 0xfff0 == 0xe8d0 && k & 0xffe0 == 0xf000 => Class::Branch,
        // Two words; without an index mode the space is that of exclusive accesses.
        0xe8 | 0xe9 if h & 0x120 != 0 => return Decoded::multiple(load, 2),
        0xe8 | 0xe9 => memory(load),
        0xea | 0xeb => Class::Alu,
        0xec | 0xed | 0xfc | 0xfd if is_vector(k) => Class::VectorMemory,
        0xec..=0xef | 0xfc..=0xff => {
            if is_vector(k) || matches!(h >> 8, 0xef | 0xff) {
                Class::Vector
            } else {
                Class::Float
            }
        }
        0xf0..=0xf7 if k & 0x8000 == 0 => Class::Alu,
        // Barriers, hints, special registers stand where a conditional branch has the conditions that there are not.
        0xf0..=0xf7 if k & 0xd000 == 0x8000 && h & 0x380 == 0x380 => Class::Other,
        // Among them the low-overhead loops of Armv8.1-M.
        0xf0..=0xf7 => Class::Branch,
        0xf8 | 0xf9 => memory(load),
        0xfb if matches!(h & 0xfff0, 0xfb90 | 0xfbb0) => Class::Divide,
        0xfb => Class::Multiply,
        _ => Class::Alu,
    })
}

/// Coprocessors 14 and 15 are MVE's; 8 too is used by its moves and floating point has 9 to 11.
fn is_vector(k: u16) -> bool {
    matches!(k >> 8 & 0xf, 0x8 | 0xe | 0xf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_instructions_of_kernels() {
        for (words, class) in [
            ([0x6801, 0], Class::Load),              // ldr r1, [r0]
            ([0x5ccb, 0], Class::Load),              // ldrb r3, [r1, r3]
            ([0x56cb, 0], Class::Load),              // ldrsb r3, [r1, r3]
            ([0x5088, 0], Class::Store),             // str r0, [r1, r2]
            ([0x4b01, 0], Class::Load),              // ldr r3, [pc, #4]
            ([0x9101, 0], Class::Store),             // str r1, [sp, #4]
            ([0xf91b, 0x1b01], Class::Load),         // ldrsb r1, [r11], #1
            ([0xf840, 0x1b04], Class::Store),        // str r1, [r0], #4
            ([0x4358, 0], Class::Multiply),          // muls r0, r3, r0
            ([0xfb20, 0x1302], Class::Multiply),     // smlad r3, r0, r2, r1
            ([0xfb80, 0x0102], Class::Multiply),     // smull r0, r1, r0, r2
            ([0xfb90, 0xf0f1], Class::Divide),       // sdiv r0, r0, r1
            ([0xfbb0, 0xf0f1], Class::Divide),       // udiv r0, r0, r1
            ([0xfa2f, 0xf082], Class::Alu),          // sxtb16 r0, r2
            ([0xeb00, 0x0182], Class::Alu),          // add.w r1, r0, r2, lsl #2
            ([0xf100, 0x0104], Class::Alu),          // add.w r1, r0, #4
            ([0x3904, 0], Class::Alu),               // subs r1, #4
            ([0xb004, 0], Class::Alu),               // add sp, #16
            ([0xb240, 0], Class::Alu),               // sxtb r0, r0
            ([0xd1fc, 0], Class::Branch),            // bne
            ([0xe7fe, 0], Class::Branch),            // b
            ([0x4770, 0], Class::Branch),            // bx lr
            ([0xb108, 0], Class::Branch),            // cbz r0
            ([0xf47f, 0xaffe], Class::Branch),       // bne.w
            ([0xf000, 0xf800], Class::Branch),       // bl
            ([0xf00f, 0xc801], Class::Branch),       // le
            ([0xe8df, 0xf001], Class::Branch),       // tbb [pc, r1]
            ([0xbf08, 0], Class::Other),             // it eq
            ([0xf3bf, 0x8f4f], Class::Other),        // dsb
            ([0xee07, 0x0a90], Class::Float),        // vmov s15, r0
            ([0xed90, 0x0a00], Class::Float),        // vldr s0, [r0]
            ([0xed90, 0x1e00], Class::VectorMemory), // vldrb.8 q0, [r0]
            ([0xeef2, 0x0e00], Class::Vector),       // vmladav
        ] {
            assert_eq!(decode(words[0], words[1]), Decoded::of(class), "{words:x?}");
        }
    }

    #[test]
    fn counts_the_words_of_multiple_transfers() {
        assert_eq!(decode(0xb5f0, 0), Decoded::multiple(false, 5)); // push {r4-r7, lr}
        assert_eq!(decode(0xbd10, 0), Decoded::multiple(true, 2)); // pop {r4, pc}
        assert_eq!(decode(0xc80f, 0), Decoded::multiple(true, 4)); // ldm r0!, {r0-r3}
        assert_eq!(decode(0xe8b0, 0x0ff0), Decoded::multiple(true, 8)); // ldm.w r0!, {r4-r11}
        assert_eq!(decode(0xe92d, 0x4ff0), Decoded::multiple(false, 9)); // push.w {r4-r11, lr}
        assert_eq!(decode(0xe9d0, 0x1200), Decoded::multiple(true, 2)); // ldrd r1, r2, [r0]
        assert_eq!(decode(0xe8f0, 0x1202), Decoded::multiple(true, 2)); // ldrd r1, r2, [r0], #8
    }

    #[test]
    fn tells_lengths_and_markers() {
        assert_eq!([0xe7ff, 0xe800, 0xf000, 0xbf00].map(length), [2, 4, 4, 2]);
        assert_eq!([0xbfa0, 0xbfb0, 0xbf00].map(marker), [Some(Marker::Start), Some(Marker::Stop), None]);
    }
}
