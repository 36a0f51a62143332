//! Frames of whole, cut and altered streams.

use arrow_array::{Int32Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use ccactl_recording::{Frames, Problem};
use std::io::Cursor;
use std::sync::Arc;

/// Two batches of three and one rows; where each frame begins, and where the end mark does.
fn stream() -> (Vec<u8>, Vec<usize>) {
    let fields = vec![Field::new("n", DataType::Int32, false), Field::new("text", DataType::Utf8, true)];
    let schema = Arc::new(Schema::new(fields));
    let batch = |n: Vec<i32>, text: Vec<Option<&str>>| {
        let columns = vec![Arc::new(Int32Array::from(n)) as _, Arc::new(StringArray::from(text)) as _];
        RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
    };
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    let mut starts = vec![0, writer.get_ref().len()];
    for batch in [batch(vec![1, 2, 3], vec![Some("a"), None, Some("ccc")]), batch(vec![4], vec![None])] {
        writer.write(&batch).unwrap();
        starts.push(writer.get_ref().len());
    }
    (writer.into_inner().unwrap(), starts)
}

#[test]
fn the_frames_of_a_stream_are_its_bytes() {
    let (bytes, starts) = stream();
    let mut frames = Frames::new(Cursor::new(&bytes));
    for window in starts.windows(2) {
        let frame = frames.next().unwrap().unwrap();
        assert_eq!(frame.bytes(), &bytes[window[0]..window[1]]);
        assert_eq!(frames.position(), window[1] as u64);
    }
    assert!(frames.next().is_none() && frames.next().is_none());
}

#[test]
fn a_cut_anywhere_gives_the_whole_frames_before_it_and_says_that_it_is_one() {
    let (bytes, starts) = stream();
    for length in 0..bytes.len() - 1 {
        let mut whole = 0;
        let mut frames = Frames::new(Cursor::new(&bytes[..length]));
        let problem = loop {
            match frames.next() {
                Some(Ok(_)) => whole += 1,
                Some(Err(problem)) => break problem,
                None => panic!("a cut at {length} looks like the end"),
            }
        };
        assert_eq!(whole, starts[1..].iter().filter(|&&end| end <= length).count(), "cut at {length}");
        assert!(matches!(problem, Problem::Truncated), "cut at {length}: {problem}");
        assert!(frames.next().is_none());
    }
}

#[test]
fn no_bit_that_flips_makes_it_ask_for_more_than_there_is() {
    let (bytes, _) = stream();
    for bit in 0..bytes.len() * 8 {
        let mut altered = bytes.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        let frames: Vec<_> = Frames::new(Cursor::new(&altered)).map_while(Result::ok).collect();
        assert!(frames.iter().map(|frame| frame.bytes().len()).sum::<usize>() <= bytes.len());
    }
}

#[test]
fn what_no_recording_has_is_refused_with_a_reason() {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let nested = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    for data_type in [dictionary, nested, DataType::Null] {
        let schema = Schema::new(vec![Field::new("odd", data_type, true)]);
        let bytes = StreamWriter::try_new(Vec::new(), &schema).unwrap().into_inner().unwrap();
        let problem = Frames::new(Cursor::new(&bytes)).next().unwrap().unwrap_err();
        assert!(problem.to_string().contains("column \"odd\" has a type that no recording has"), "{problem}");
    }
    let (bytes, starts) = stream();
    let batch_first = &bytes[starts[1]..];
    let problem = Frames::new(Cursor::new(batch_first)).next().unwrap().unwrap_err();
    assert!(problem.to_string().contains("the first message is not a schema"), "{problem}");
    let twice = [&bytes[..starts[1]], &bytes[..starts[1]]].concat();
    let problem = Frames::new(Cursor::new(&twice)).nth(1).unwrap().unwrap_err();
    assert!(problem.to_string().contains("not a batch of rows"), "{problem}");
}
