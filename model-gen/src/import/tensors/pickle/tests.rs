use super::*;

fn error(program: &[u8]) -> String {
    read(program).unwrap_err()
}

#[test]
fn values_of_every_instruction() {
    let program = b"\x80\x02(NK\x07M\x00\x01J\xff\xff\xff\xff\x8a\x02\x00\x80\x88\x89X\x02\x00\x00\x00ab\x8c\x01cG01234567tq\x05\x85.";
    let pickle = read(program).unwrap();
    let Value::Object(outer) = pickle.result else { panic!("{pickle:?}") };
    let Object::Tuple(outer) = &pickle.objects[outer] else { panic!("{pickle:?}") };
    let Value::Object(inner) = outer[0] else { panic!("{pickle:?}") };
    let Object::Tuple(values) = &pickle.objects[inner] else { panic!("{pickle:?}") };
    let ints = [7, 256, -1, -32768].map(Value::Int);
    let rest = [Value::Bool(true), Value::Bool(false), Value::Text("ab"), Value::Text("c"), Value::Float];
    assert_eq!(values[..], [&[Value::None][..], &ints, &rest].concat());
}

#[test]
fn other_functions_are_refused_by_name_before_any_call() {
    for program in [&b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R."[..], b"\x80\x04\x8c\x02os\x8c\x06system\x93."] {
        assert_eq!(error(program), "the pickle calls \"os.system\", which is not run");
    }
    assert!(error(b"\x80\x02ctorch\nload\n)R.").contains("\"torch.load\""));
    // INST, OBJ, NEWOBJ, EXT1 and REDUCE of a value that is no function.
    assert!(error(b"\x80\x02(ios\nsystem\n.").contains("instruction 0x69"));
    assert!(error(b"\x80\x02(o.").contains("instruction 0x6f"));
    assert!(error(b"\x80\x02)\x81.").contains("instruction 0x81"));
    assert!(error(b"\x80\x02\x82\x01.").contains("instruction 0x82"));
    assert_eq!(error(b"\x80\x02N)R."), "the pickle is damaged at byte 4");
    // A state dict's attributes are set on a dict only.
    assert_eq!(error(b"\x80\x02)}b."), "the pickle is damaged at byte 4");
}

#[test]
fn stack_and_memo_never_run_over() {
    for program in [
        &b""[..],
        b".",
        b"(.",
        b"N(.",
        b"N(\x85.",
        b"t.",
        b"h\x01.",
        b"q\x01.",
        b"s.",
        b"}K\x01s.",
        b"}(K\x01u.",
        b"NN\x93.",
        b"X\xff\xff\xff\xff.",
        b"cabc",
        b"\x8a\x09123456789.",
    ] {
        assert!(error(program).contains("is damaged at byte"), "{program:?}");
    }
}

/// Deep nesting, cycles and sharing take no recursion and no memory to speak of.
#[test]
fn nesting_cycles_and_sharing_are_harmless() {
    let deep = [&b"\x80\x02)"[..], &vec![0x85; 1 << 20], b"."].concat();
    assert_eq!(read(&deep).unwrap().objects.len(), (1 << 20) + 1);
    // A list in itself, and twenty dicts each with the last one twice.
    assert!(read(b"\x80\x02]q\x00h\x00a.").is_ok());
    let doubling = [&b"\x80\x02)q\x00"[..], &b"h\x00h\x00\x86q\x00".repeat(1 << 16), b"."].concat();
    assert_eq!(read(&doubling).unwrap().objects.len(), (1 << 16) + 1);
}

#[test]
fn any_cut_or_changed_byte_gives_a_result() {
    let tensor = crate::testing::pickle::TorchTensor {
        key: "weight".to_owned(),
        storage: "FloatStorage".to_owned(),
        shape: vec![2, 3],
        strides: vec![3, 1],
        offset: 0,
        bytes: vec![0; 24],
    };
    let program = crate::testing::pickle::state_dict(&[tensor]);
    assert!(read(&program).is_ok());
    for end in 0..program.len() {
        assert!(read(&program[..end]).is_err(), "{end}");
    }
    let mut refused = 0;
    for at in 0..program.len() {
        for byte in 0..=255 {
            let mut changed = program.clone();
            changed[at] = byte;
            refused += usize::from(read(&changed).is_err());
        }
    }
    assert!(refused > program.len() * 64, "{refused}");
}
