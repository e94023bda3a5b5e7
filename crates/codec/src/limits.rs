//! Every limit of the codec in one struct.

/// Bounds on what a peer may make this side hold or walk.
///
/// Parsers check an announced count or length against the bytes that are present and against these before they reserve
/// anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest whole frame in bytes, its 4-byte length included (wire 1.2). Default 16 MiB.
    pub frame: usize,
    /// Largest body in bytes after decompression. Default 64 MiB.
    pub inflated_body: usize,
    /// Deepest nesting of JSON bodies and headers; more than 512 counts as 512. Default 64.
    pub json_depth: usize,
    /// Most values in one JSON body, its objects in key position included. Default 1,000,000.
    pub json_values: usize,
    /// Most bytes that references (`$ref`, wire 5.1) may add to one JSON body, texts and 16 bytes a value. Default 4 MiB.
    pub json_references: usize,
    /// Most fields in one command header. Default 1024.
    pub header_fields: usize,
    /// Most properties in one message. Default 1024.
    pub properties: usize,
    /// Most bytes queued on one wire before further frames are refused. Default 64 MiB.
    pub write_queue: usize,
}

impl Limits {
    /// The default limits.
    pub const DEFAULT: Self = Self {
        frame: 16_777_216,
        inflated_body: 64 * 1024 * 1024,
        json_depth: 64,
        json_values: 1_000_000,
        json_references: 4 * 1024 * 1024,
        header_fields: 1024,
        properties: 1024,
        write_queue: 64 * 1024 * 1024,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
