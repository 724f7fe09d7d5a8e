//! Float instructions in Thumb code (Armv7-M Architecture Reference Manual, A5.1, A5.3, A6.4).

/// Calls `found` with offset and bits of every float instruction in `code`; returns the number of instructions.
pub fn scan(code: &[u8], found: &mut dyn FnMut(usize, u32)) -> usize {
    let halfword = |offset: usize| {
        let bytes = code.get(offset..offset + 2)?;
        Some(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])))
    };
    let (mut offset, mut count) = (0, 0);
    while let Some(first) = halfword(offset) {
        count += 1;
        // 0b11101, 0b11110, 0b11111 in the top five bits start an instruction of two halfwords.
        if first < 0b11101 << 11 {
            offset += 2;
            continue;
        }
        let second = halfword(offset + 2).unwrap_or(0);
        if is_float(first, second) {
            found(offset, first << 16 | second);
        }
        offset += 4;
    }
    count
}

/// Coprocessor instructions have 111x11 on top; coprocessors 10 and 11 are the FPU. Loads, stores, moves, arithmetic,
/// comparisons and the status registers are all there.
fn is_float(first: u32, second: u32) -> bool {
    let coprocessor = second >> 8 & 0xF;
    first & 0xEC00 == 0xEC00 && matches!(coprocessor, 10 | 11)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(words: &[u16]) -> (Vec<usize>, usize) {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut found = Vec::new();
        let count = scan(&code, &mut |offset, _| found.push(offset));
        (found, count)
    }

    #[test]
    fn finds_fpu_instructions() {
        for (name, word) in [
            ("vadd.f32 s0, s0, s1", [0xEE30, 0x0A20]),
            ("vmul.f32 s0, s0, s1", [0xEE20, 0x0A20]),
            ("vdiv.f32 s0, s0, s1", [0xEE80, 0x0A20]),
            ("vsqrt.f32 s0, s0", [0xEEB1, 0x0AC0]),
            ("vfma.f32 s0, s1, s2", [0xEEA0, 0x0A81]),
            ("vldr s0, [r0]", [0xED90, 0x0A00]),
            ("vldr d0, [r0]", [0xED90, 0x0B00]),
            ("vmov s0, r0", [0xEE00, 0x0A10]),
            ("vmov r0, r1, d0", [0xEC51, 0x0B10]),
            ("vpush {d8}", [0xED2D, 0x8B02]),
            ("vcvt.f32.s32 s0, s0", [0xEEB8, 0x0AC0]),
            ("vcmp.f32 s0, s1", [0xEEB4, 0x0A60]),
            ("vmrs apsr_nzcv, fpscr", [0xEEF1, 0xFA10]),
            ("vsel.f32 (Armv8-M)", [0xFE00, 0x0A20]),
        ] {
            assert_eq!(floats(&word), (vec![0], 1), "{name}");
        }
    }

    #[test]
    fn passes_integer_instructions() {
        for (name, word) in [
            ("smlad r0, r1, r2, r3", [0xFB21, 0x3002]),
            ("sxtb16 r0, r1", [0xFA2F, 0xF081]),
            ("ldrd r0, r1, [r2]", [0xE9D2, 0x0100]),
            ("ldmia.w r0, {r1, r9, r11}", [0xE890, 0x0A02]),
            ("bl", [0xF7FF, 0xFAFE]),
            ("ldr.w r10, [r11]", [0xF8DB, 0xAA00]),
            ("mla r10, r11, r10, r11", [0xFB0B, 0xBA0A]),
            ("mrc p14", [0xEE10, 0x0E10]),
            ("add.w r10, r0, r1", [0xEB00, 0x0A01]),
        ] {
            assert_eq!(floats(&word), (vec![], 1), "{name}");
        }
    }

    #[test]
    fn keeps_step_with_the_instructions() {
        // A short one before moves it; a long one whose second half looks like a float's first does not count.
        assert_eq!(floats(&[0xBF00, 0xEE30, 0x0A20, 0xBF00]), (vec![2], 3));
        assert_eq!(floats(&[0xF240, 0xEE30, 0x0A20]), (vec![], 2));
    }
}
