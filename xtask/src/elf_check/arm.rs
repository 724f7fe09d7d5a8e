//! Float instructions in Thumb code (Armv7-M Architecture Reference Manual, A5.1, A5.3, A6.4; Armv8-M Architecture
//! Reference Manual, C2.4, for those of MVE).

/// Calls `found` with offset and bits of every float instruction in `code`; returns the number of instructions.
pub fn scan(code: &[u8], found: &mut dyn FnMut(usize, u32)) -> usize {
    scan_for(code, is_float, found)
}

/// As [`scan`], for code of a core with MVE, whose integer instructions share registers and encodings with the FPU.
pub fn scan_mve(code: &[u8], found: &mut dyn FnMut(usize, u32)) -> usize {
    scan_for(code, is_float_beside_mve, found)
}

fn scan_for(code: &[u8], is_float: fn(u32, u32) -> bool, found: &mut dyn FnMut(usize, u32)) -> usize {
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

/// Float arithmetic, of the FPU and of vectors. Loads, stores and moves are none: MVE kernels save and fill their registers
/// by them, and they compute nothing.
fn is_float_beside_mve(first: u32, second: u32) -> bool {
    let coprocessor = second >> 8 & 0xF;
    let scalar = first & 0xEF00 == 0xEE00 && matches!(coprocessor, 9..=11) && second & 0x10 == 0;
    // Vector and vector: sums, products, maxima; with bit 7 set, the others (absolute value, rounding, conversion).
    let three = first & 0xEF80 == 0xEF00 && matches!(coprocessor, 12 | 13 | 15);
    let two = first & 0xFFB0 == 0xFFB0 && second & 0x10 == 0;
    let two = two && (first & 3 == 1 && coprocessor & 4 != 0 || first & 2 != 0 && matches!(coprocessor, 4..=7));
    // Vector and scalar: a size that integers don't have, but for shifts by a register.
    let shift = coprocessor == 14 && second & 0x1060 == 0x1060;
    let by_scalar = first & 0xEFB0 == 0xEE30 && matches!(coprocessor, 14 | 15) && second & 0x40 != 0 && !shift;
    scalar || three || two || by_scalar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_float_from_integer_vectors() {
        // Assembled by LLVM.
        let float = |[first, second]: [u16; 2]| is_float_beside_mve(first.into(), second.into());
        for (name, words) in [
            ("vadd.f32 s0, s0, s1", [0xEE30, 0x0A20]),
            ("vfma.f32 s0, s1, s2", [0xEEA0, 0x0A81]),
            ("vcvt.f32.s32 s0, s0", [0xEEB8, 0x0AC0]),
            ("vadd.f32 q0, q1, q2", [0xEF02, 0x0D44]),
            ("vadd.f16 q0, q1, q2", [0xEF12, 0x0D44]),
            ("vadd.f32 q0, q1, r2", [0xEE32, 0x0F42]),
            ("vmul.f32 q0, q1, q2", [0xFF02, 0x0D54]),
            ("vmul.f32 q0, q1, r3", [0xEE33, 0x0E63]),
            ("vfma.f32 q0, q1, q2", [0xEF02, 0x0C54]),
            ("vfma.f32 q0, q1, r2", [0xEE33, 0x0E42]),
            ("vfmas.f32 q0, q1, r2", [0xEE33, 0x1E42]),
            ("vabs.f32 q0, q1", [0xFFB9, 0x0742]),
            ("vcvt.f32.s32 q0, q1", [0xFFBB, 0x0642]),
            ("vcvt.s32.f32 q0, q1", [0xFFBB, 0x0742]),
            ("vmaxnm.f32 q0, q1, q2", [0xFF02, 0x0F54]),
            ("vrintn.f32 q0, q1", [0xFFBA, 0x0442]),
        ] {
            assert!(float(words), "{name}");
        }
        for (name, words) in [
            ("vadd.i32 q0, q1, q2", [0xEF22, 0x0844]),
            ("vadd.i8 q0, q1, r2", [0xEE03, 0x0F42]),
            ("vmul.i32 q0, q1, q2", [0xEF22, 0x0954]),
            ("vmul.i32 q0, q1, r2", [0xEE23, 0x1E62]),
            ("vmladava.s8 r0, q1, q2", [0xEEF2, 0x0F24]),
            ("vmladava.s16 r0, q1, q2", [0xEEF2, 0x0E24]),
            ("vmlaldava.s16 r0, r1, q1, q2", [0xEE82, 0x0E24]),
            ("vqrdmulh.s32 q0, q1, q2", [0xFF22, 0x0B44]),
            ("vqdmulh.s32 q0, q1, r2", [0xEE23, 0x0E62]),
            ("vrshl.s32 q0, q1, q2", [0xEF24, 0x0542]),
            ("vshl.s32 q1, r12", [0xEE39, 0x3E6C]),
            ("vrshl.s32 q1, r4", [0xEE3B, 0x3E64]),
            ("vshl.i32 q0, q1, #3", [0xEFA3, 0x0552]),
            ("vldrb.u8 q0, [r0]", [0xED90, 0x1E00]),
            ("vldrw.u32 q0, [r1, q2, uxtw #2]", [0xFC91, 0x0F45]),
            ("vstrb.8 q0, [r0], #16", [0xECA0, 0x1E10]),
            ("vmov.32 q0[0], r1", [0xEE00, 0x1B10]),
            ("vmov r0, r1, q0[2], q0[0]", [0xEC01, 0x0F00]),
            ("vdup.8 q0, r1", [0xEEE0, 0x1B10]),
            ("vpush {d8-d15}", [0xED2D, 0x8B10]),
            ("vpop {d8-d15}", [0xECBD, 0x8B10]),
            ("vmax.s32 q0, q1, q2", [0xEF22, 0x0644]),
            ("vmaxv.s32 r0, q1", [0xEEEA, 0x0F02]),
            ("vabs.s32 q0, q1", [0xFFB9, 0x0342]),
            ("vcmp.s32 lt, q0, r1", [0xFE21, 0x1FC1]),
            ("vpsel q0, q1, q2", [0xFE33, 0x0F05]),
            ("vmovlb.s8 q0, q1", [0xEEA8, 0x0F42]),
            ("vqmovnb.s32 q0, q1", [0xEE37, 0x0E03]),
            ("vmovnt.i32 q0, q1", [0xFE35, 0x1E83]),
            ("vaddva.s32 r0, q1", [0xEEF9, 0x0F22]),
            ("vmov.i32 q0, #0", [0xEF80, 0x0050]),
            ("vand q0, q1, q2", [0xEF02, 0x0154]),
            ("vmullb.s8 q0, q1, q2", [0xEE03, 0x0E04]),
            ("vmulh.s32 q0, q1, q2", [0xEE23, 0x0E05]),
            ("vidup.u32 q0, r0, #1", [0xEE21, 0x0F6E]),
            ("vmla.s32 q0, q1, r2", [0xEE23, 0x0E42]),
            ("vrev32.8 q0, q1", [0xFFB0, 0x00C2]),
            ("vsri.32 q0, q1, #3", [0xFFBD, 0x0452]),
            ("vbrsr.32 q0, q1, r2", [0xFE23, 0x1E62]),
        ] {
            assert!(!float(words), "{name}");
        }
    }

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
