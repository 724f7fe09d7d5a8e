//! What `model-gen` knows of a board's memory is what its firmware is linked by.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use model_gen::boards::BOARDS;

/// A size such as `4M` or `320K`, or a number in hexadecimals.
fn size(text: &str) -> u32 {
    let text = text.trim();
    let number = |digits: &str| digits.parse::<u32>().unwrap();
    match (text.strip_suffix('K'), text.strip_suffix('M'), text.strip_prefix("0x")) {
        (Some(kib), ..) => number(kib) << 10,
        (_, Some(mib), _) => number(mib) << 20,
        (.., Some(hex)) => u32::from_str_radix(hex, 16).unwrap(),
        _ => number(text),
    }
}

/// Origin and length of the regions in a `memory.x`.
fn regions(script: &str) -> HashMap<&str, (u32, u32)> {
    let region = |line: &str| {
        let (_, rest) = line.split_once("ORIGIN = ")?;
        let (origin, length) = rest.split_once(", LENGTH = ")?;
        Some((size(origin), size(length)))
    };
    let line = |line| Some((str::split_once(line, ':')?.0.trim(), region(line)?));
    script.lines().filter_map(line).collect()
}

/// The value of `symbol = ORIGIN(REGION) + LENGTH(REGION) + 1M;`, of terms like these.
fn symbol(script: &str, name: &str, regions: &HashMap<&str, (u32, u32)>) -> u32 {
    let (_, rest) = script.split_once(&format!("{name} = ")).unwrap();
    let (sum, _) = rest.split_once(';').unwrap();
    let term = |term: &str| {
        let region = |function: &str| term.trim().strip_prefix(function)?.strip_suffix(')').map(|name| regions[name]);
        region("ORIGIN(").map(|r| r.0).or(region("LENGTH(").map(|r| r.1)).unwrap_or_else(|| size(term))
    };
    sum.split('+').map(term).sum()
}

#[test]
fn boards_are_linked_by_what_the_table_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../boards");
    let mut compared = 0;
    for board in BOARDS {
        assert!(folder.join(board.name).is_dir(), "no firmware for {}", board.name);
        // A board without one has its models in a partition, whose table has a test of its own.
        let Ok(script) = fs::read_to_string(folder.join(board.name).join("memory.x")) else { continue };
        let regions = regions(&script);
        let [start, end] = ["__model_start", "__model_end"].map(|name| symbol(&script, name, &regions));
        assert_eq!(start, board.model_address, "{}", board.name);
        assert_eq!((end - start) as usize, board.model_bytes, "{}", board.name);
        let ram = regions["RAM"].1 as usize;
        assert!(board.ram <= ram, "{}: {ram} bytes of RAM", board.name);
        compared += 1;
    }
    assert!(compared > 8, "{compared}");
}
