//! A phrase through tokenizer, int8 engine and greedy search: the least that translates.
#![no_std]
#![no_main]

minimal::firmware!(|translator, text| translator.translate_phrase(black_box(PHRASE.as_bytes()), &mut (), text));
