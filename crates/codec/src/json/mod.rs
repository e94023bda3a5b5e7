//! A tolerant JSON reader and a canonical writer.
//!
//! The reader takes what fastjson writes (wire 5.1): numeric keys without quotes, objects as keys, objects as text in key
//! position, members in any order, `null` anywhere; of equal members the last one counts. It is bounded in depth and in
//! the number of values, and borrows texts without escapes. The writer matches fastjson byte for byte: members sorted by
//! name, no white space, its escapes.

mod read;
mod value;
mod write;

pub use read::read;
pub use value::{FromJson, Key, Member, Object, Value};
pub use write::{JsonWriter, ToJson};
