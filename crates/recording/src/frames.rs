//! The frames of an Arrow IPC stream, checked before anybody decodes them.
//!
//! A frame is a message (a flatbuffer) and its body. A decoder that believes the lengths in a damaged message asks for
//! memory that no machine has. Here every length is compared with the bytes that are really there, and the columns are
//! limited to what a recording consists of: flat, without dictionaries, uncompressed.

use arrow_ipc::{Field, Message, MessageHeader, Precision, RecordBatch, Schema, Type, root_as_message};
use std::io::{self, Read};

/// What precedes a message since Arrow 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Continuation and length of the message.
const PREFIX_BYTES: usize = 8;
/// Longest message: the header of a recording holds the metadata and is some hundred kB at most.
const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// Longest body. A batch of a recording has at most 10 MB.
const MAX_BODY_BYTES: usize = 1 << 30;

/// One message of a stream with its body: as it is in the file, so that a decoder of streams takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    bytes: Vec<u8>,
    body_start: usize,
}

impl Frame {
    /// The whole of it, with the length of the message in front.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The whole of it, and where its body begins.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, usize) {
        (self.bytes, self.body_start)
    }

    /// The message, verified again.
    #[must_use]
    pub fn message(&self) -> Message<'_> {
        Frame::message_of(&self.bytes, self.body_start)
    }

    /// The same from the parts of a frame.
    ///
    /// # Panics
    /// When these are not the parts of a frame.
    #[must_use]
    pub fn message_of(bytes: &[u8], body_start: usize) -> Message<'_> {
        root_as_message(&bytes[PREFIX_BYTES..body_start]).expect("it has been verified")
    }
}

/// Why there is no further frame.
#[derive(Debug)]
pub enum Problem {
    /// The stream ends without its end mark, perhaps inside a frame.
    Truncated,
    /// What is there is no frame of a recording.
    Damaged(String),
    /// It cannot be read.
    Io(io::Error),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::Truncated => f.write_str("it ends before its end mark"),
            Problem::Damaged(what) => f.write_str(what),
            Problem::Io(error) => write!(f, "{error}"),
        }
    }
}

fn damaged<T>(what: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Damaged(what.into()))
}

/// Reads frame by frame. After a problem or the end there is nothing more.
pub struct Frames<R> {
    reader: R,
    is_over: bool,
    /// Once the schema has been read.
    columns: Option<Vec<Column>>,
    position: u64,
}

impl<R: Read> Frames<R> {
    /// Frames of the stream that begins here; the first is its schema.
    pub fn new(reader: R) -> Frames<R> {
        Frames { reader, is_over: false, columns: None, position: 0 }
    }

    /// Bytes up to the end of the last frame.
    pub fn position(&self) -> u64 {
        self.position
    }

    fn read(&mut self) -> Result<Option<Frame>, Problem> {
        let mut length = self.word()?;
        let mut prefix_bytes = 4;
        if length == CONTINUATION {
            length = self.word()?;
            prefix_bytes = PREFIX_BYTES;
        }
        if length == [0; 4] {
            return Ok(None);
        }
        let message_bytes =
            usize::try_from(i32::from_le_bytes(length)).ok().filter(|&bytes| bytes <= MAX_MESSAGE_BYTES);
        let Some(message_bytes) = message_bytes else { return damaged("a message has an impossible length") };
        let mut bytes = [CONTINUATION, length].concat();
        self.append(&mut bytes, message_bytes)?;
        let body_bytes = self.check(&bytes[PREFIX_BYTES..])?;
        let body_start = bytes.len();
        self.append(&mut bytes, body_bytes)?;
        self.position += (prefix_bytes + message_bytes + body_bytes) as u64;
        Ok(Some(Frame { bytes, body_start }))
    }

    fn word(&mut self) -> Result<[u8; 4], Problem> {
        let mut word = [0; 4];
        self.reader.read_exact(&mut word).map_err(problem)?;
        Ok(word)
    }

    /// Takes memory as the bytes come, not as they are promised.
    fn append(&mut self, bytes: &mut Vec<u8>, count: usize) -> Result<(), Problem> {
        let read = self.reader.by_ref().take(count as u64).read_to_end(bytes).map_err(Problem::Io)?;
        if read < count { Err(Problem::Truncated) } else { Ok(()) }
    }

    /// The length of the body of a message that can be trusted so far.
    fn check(&mut self, message: &[u8]) -> Result<usize, Problem> {
        let message = root_as_message(message).map_err(|error| {
            let text = error.to_string();
            Problem::Damaged(format!("a message does not parse ({})", text.lines().next().unwrap_or_default()))
        })?;
        let body_bytes = usize::try_from(message.bodyLength()).ok().filter(|&bytes| bytes <= MAX_BODY_BYTES);
        let Some(body_bytes) = body_bytes else { return damaged("a message has a body of impossible length") };
        match (message.header_type(), &self.columns) {
            (MessageHeader::Schema, None) => match message.header_as_schema() {
                Some(schema) => self.columns = Some(columns_of(&schema)?),
                None => return damaged("the schema is missing"),
            },
            (MessageHeader::RecordBatch, Some(columns)) => match message.header_as_record_batch() {
                Some(batch) => check_batch(&batch, columns, body_bytes)?,
                None => return damaged("a batch is missing"),
            },
            (_, Some(_)) => return damaged("a message is not a batch of rows"),
            (_, None) => return damaged("the first message is not a schema"),
        }
        Ok(body_bytes)
    }
}

impl<R: Read> Iterator for Frames<R> {
    type Item = Result<Frame, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let frame = self.read();
        self.is_over = !matches!(frame, Ok(Some(_)));
        frame.transpose()
    }
}

fn problem(error: io::Error) -> Problem {
    if error.kind() == io::ErrorKind::UnexpectedEof { Problem::Truncated } else { Problem::Io(error) }
}

/// Buffers of a column: which rows are not null, then `width` bytes per value, then text.
#[derive(Clone, Copy)]
struct Column {
    width: i64,
    text: Text,
}

/// In how many buffers the text of a column is.
#[derive(Clone, Copy)]
enum Text {
    None,
    One,
    /// As many as the batch says.
    Variadic,
}

fn columns_of(schema: &Schema) -> Result<Vec<Column>, Problem> {
    let Some(fields) = schema.fields() else { return damaged("the schema has no columns") };
    let column = |field: Field| match column_of(&field) {
        Some(column) => Ok(column),
        None => damaged(format!("column {:?} has a type that no recording has", field.name().unwrap_or_default())),
    };
    fields.iter().map(column).collect()
}

/// Numbers, booleans, times and text; `None` for what no recording has.
fn column_of(field: &Field) -> Option<Column> {
    let has_children = field.children().is_some_and(|children| !children.is_empty());
    if has_children || field.dictionary().is_some() {
        return None;
    }
    let (width, text) = match field.type_type() {
        Type::Int => (integer_bytes(field.type_as_int()?.bitWidth())?, Text::None),
        Type::FloatingPoint => (float_bytes(field.type_as_floating_point()?.precision())?, Text::None),
        Type::Bool => (1, Text::None),
        Type::Timestamp => (8, Text::None),
        Type::Utf8 => (4, Text::One),
        Type::LargeUtf8 => (8, Text::One),
        Type::Utf8View => (16, Text::Variadic),
        _ => return None,
    };
    Some(Column { width, text })
}

fn integer_bytes(bits: i32) -> Option<i64> {
    [8, 16, 32, 64].contains(&bits).then_some(i64::from(bits / 8))
}

fn float_bytes(precision: Precision) -> Option<i64> {
    match precision {
        Precision::HALF => Some(2),
        Precision::SINGLE => Some(4),
        Precision::DOUBLE => Some(8),
        _ => None,
    }
}

fn check_batch(batch: &RecordBatch, columns: &[Column], body_bytes: usize) -> Result<(), Problem> {
    if batch.compression().is_some() {
        return damaged("a batch is compressed, which no recording is");
    }
    // Each of these columns takes a bit per row at least.
    let most_rows = body_bytes as i64 * 8;
    if !(0..=most_rows).contains(&batch.length()) {
        return damaged(format!("a batch claims {} rows in {body_bytes} bytes", batch.length()));
    }
    for node in batch.nodes().into_iter().flatten() {
        if node.length() != batch.length() || !(0..=node.length()).contains(&node.null_count()) {
            return damaged("a column and its batch have different lengths");
        }
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let end = buffer.offset().checked_add(buffer.length());
        if buffer.offset() < 0 || buffer.length() < 0 || end.is_none_or(|end| end > body_bytes as i64) {
            return damaged("a buffer lies outside of its batch");
        }
    }
    check_columns(batch, columns)
}

/// Decoders take a buffer as a slice of values, and some panic when it ends within one.
fn check_columns(batch: &RecordBatch, columns: &[Column]) -> Result<(), Problem> {
    let mut buffers = batch.buffers().into_iter().flatten();
    let mut counts = batch.variadicBufferCounts().into_iter().flatten();
    for column in columns {
        let (Some(_validity), Some(values)) = (buffers.next(), buffers.next()) else {
            return damaged("a batch lacks a buffer");
        };
        if values.length() % column.width != 0 {
            return damaged("a buffer ends within a value");
        }
        let texts = match column.text {
            Text::None => 0,
            Text::One => 1,
            Text::Variadic => match counts.next().map(usize::try_from) {
                Some(Ok(count)) => count,
                _ => return damaged("a batch does not say how many buffers a text has"),
            },
        };
        if texts > 0 && buffers.nth(texts - 1).is_none() {
            return damaged("a batch lacks a buffer");
        }
    }
    Ok(())
}
