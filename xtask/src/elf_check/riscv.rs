//! Float instructions in RISC-V code (unprivileged ISA, chapters 16, 20, 21 and 34).

/// Calls `found` with offset and bits of every float instruction in `code`; returns the number of instructions.
pub fn scan(code: &[u8], found: &mut dyn FnMut(usize, u32)) -> usize {
    let halfword = |offset: usize| {
        let bytes = code.get(offset..offset + 2)?;
        Some(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])))
    };
    let (mut offset, mut count) = (0, 0);
    while let Some(first) = halfword(offset) {
        count += 1;
        // 0b11 in the lowest bits starts an instruction of two halfwords.
        if first & 0b11 != 0b11 {
            if is_compressed_float(first) {
                found(offset, first);
            }
            offset += 2;
            continue;
        }
        let bits = halfword(offset + 2).unwrap_or(0) << 16 | first;
        if is_float(bits) {
            found(offset, bits);
        }
        offset += 4;
    }
    count
}

/// LOAD-FP, STORE-FP, the four fused multiply-adds, OP-FP, and the accesses to `fflags`, `frm` and `fcsr`.
fn is_float(bits: u32) -> bool {
    match bits & 0x7F {
        0x07 | 0x27 | 0x43 | 0x47 | 0x4B | 0x4F | 0x53 => true,
        0x73 => bits >> 12 & 0b111 != 0 && matches!(bits >> 20, 1..=3),
        _ => false,
    }
}

/// Loads and stores of quadrants 0 and 2 with an odd function code: `c.flw`, `c.fld`, `c.fsw`, `c.fsd` and their `sp`
/// forms.
fn is_compressed_float(bits: u32) -> bool {
    matches!(bits & 0b11, 0 | 2) && matches!(bits >> 13, 1 | 3 | 5 | 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(code: &[u8]) -> (Vec<usize>, usize) {
        let mut found = Vec::new();
        let count = scan(code, &mut |offset, _| found.push(offset));
        (found, count)
    }

    #[test]
    fn finds_float_instructions() {
        for (name, bits) in [
            ("fadd.s fa0, fa0, fa1", 0x00B5_7553u32),
            ("fmul.d fa0, fa0, fa1", 0x12B5_7553),
            ("flw fa0, 0(a0)", 0x0005_2507),
            ("fsd fa0, 0(a0)", 0x00A5_3027),
            ("fmadd.s fa0, fa0, fa1, fa2", 0x60B5_7543),
            ("fcvt.s.w fa0, a0", 0xD005_7553),
            ("fmv.x.w a0, fa0", 0xE005_0553),
            ("csrr a0, fcsr", 0x0030_2573),
        ] {
            assert_eq!(floats(&bits.to_le_bytes()), (vec![0], 1), "{name}");
        }
        for (name, bits) in [("c.flw", 0x6108u16), ("c.fld", 0x2108), ("c.fswsp", 0xE02A), ("c.fldsp", 0x2502)] {
            assert_eq!(floats(&bits.to_le_bytes()), (vec![0], 1), "{name}");
        }
    }

    #[test]
    fn passes_integer_instructions() {
        for (name, bits) in [
            ("mul a0, a0, a1", 0x02B5_0533u32),
            ("lb a0, 0(a0)", 0x0005_0503),
            ("sw a0, 0(a1)", 0x00A5_A023),
            ("ecall", 0x0000_0073),
            ("ebreak", 0x0010_0073),
            ("csrr a0, minstret", 0xB020_2573),
        ] {
            assert_eq!(floats(&bits.to_le_bytes()), (vec![], 1), "{name}");
        }
        for (name, bits) in
            [("c.lw", 0x4108u16), ("c.sw", 0xC108), ("c.swsp", 0xC02A), ("c.j", 0xA001), ("c.li", 0x4501)]
        {
            assert_eq!(floats(&bits.to_le_bytes()), (vec![], 1), "{name}");
        }
    }

    #[test]
    fn keeps_step_with_the_instructions() {
        // c.li, fadd.s, c.li
        assert_eq!(floats(&[0x01, 0x45, 0x53, 0x75, 0xB5, 0x00, 0x01, 0x45]), (vec![2], 3));
    }
}
