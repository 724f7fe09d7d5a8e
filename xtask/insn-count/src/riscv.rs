//! Classes of RV32 instructions with the compressed ones (RISC-V unprivileged specification, opcode maps).

use crate::class::{Class, Decoded, Marker, memory};

/// Length in bytes, from the first halfword.
pub fn length(first: u16) -> usize {
    if first & 3 == 3 { 4 } else { 2 }
}

/// `slti x0, x0, imm`, a hint without meaning.
pub fn marker(first: u16, second: u16) -> Option<Marker> {
    match (first, second) {
        (0x2013, 0x5a10) => Some(Marker::Start),
        (0x2013, 0x5a20) => Some(Marker::Stop),
        _ => None,
    }
}

/// Decodes an instruction; `second` counts where it has one.
pub fn decode(first: u16, second: u16) -> Decoded {
    Decoded::of(if length(first) == 2 {
        compressed(first)
    } else {
        let funct3 = first >> 12 & 7;
        match first & 0x7f {
            0x03 => Class::Load,
            0x23 => Class::Store,
            0x63 | 0x67 | 0x6f => Class::Branch,
            // The M extension.
            0x33 if second >> 9 == 1 && funct3 >= 4 => Class::Divide,
            0x33 if second >> 9 == 1 => Class::Multiply,
            0x07 | 0x27 | 0x43 | 0x47 | 0x4b | 0x4f | 0x53 => Class::Float,
            0x0f | 0x73 => Class::Other,
            _ => Class::Alu,
        }
    })
}

fn compressed(h: u16) -> Class {
    match (h & 3, h >> 13) {
        (0 | 2, 2 | 6) => memory(h >> 13 == 2),
        (0 | 2, 1 | 3 | 5 | 7) => Class::Float,
        (1, 1 | 5..=7) => Class::Branch,
        (2, 4) if h == 0x9002 => Class::Other,
        // Jumps to a register are moves and additions of register zero.
        (2, 4) if h & 0x7c == 0 => Class::Branch,
        _ => Class::Alu,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_instructions_of_kernels() {
        for (word, class) in [
            (0x0005_0503_u32, Class::Load), // lb a0, 0(a0)
            (0x4508, Class::Load),          // c.lw a0, 8(a0)
            (0x4532, Class::Load),          // c.lwsp a0, 12(sp)
            (0xc508, Class::Store),         // c.sw
            (0xc62a, Class::Store),         // c.swsp
            (0x00b5_0023, Class::Store),    // sb a1, 0(a0)
            (0x02b5_0533, Class::Multiply), // mul a0, a0, a1
            (0x02b5_1533, Class::Multiply), // mulh
            (0x02b5_5533, Class::Divide),   // divu
            (0x00b5_0533, Class::Alu),      // add a0, a0, a1
            (0x952e, Class::Alu),           // c.add a0, a1
            (0x0505, Class::Alu),           // c.addi a0, 1
            (0x0141, Class::Alu),           // c.addi sp, 16
            (0x8082, Class::Branch),        // ret
            (0x9502, Class::Branch),        // c.jalr a0
            (0xfb75, Class::Branch),        // c.bnez a4
            (0xfeb5_1ee3, Class::Branch),   // bne
            (0x9002, Class::Other),         // c.ebreak
            (0xc020_2573, Class::Other),    // csrr a0, instret
        ] {
            let halves = [word as u16, (word >> 16) as u16];
            assert_eq!(decode(halves[0], halves[1]), Decoded::of(class), "{word:x}");
            assert_eq!(length(halves[0]) == 4, word >> 16 != 0, "{word:x}");
        }
    }

    #[test]
    fn tells_markers() {
        // slti x0, x0, 0x5a1: immediate, funct3 2, opcode 0x13.
        let word = |imm: u32| imm << 20 | 2 << 12 | 0x13;
        let of = |word: u32| marker(word as u16, (word >> 16) as u16);
        assert_eq!([0x5a1, 0x5a2, 0x5a3].map(|imm| of(word(imm))), [Some(Marker::Start), Some(Marker::Stop), None]);
    }
}
