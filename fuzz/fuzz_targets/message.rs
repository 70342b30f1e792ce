#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| { let _ = toolgate_protocol::Message::parse(bytes::Bytes::copy_from_slice(data)); });
