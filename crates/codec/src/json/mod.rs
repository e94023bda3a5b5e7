//! A tolerant JSON reader and a canonical writer.
//!
//! The reader takes what fastjson writes (wire 5.1): numeric keys without quotes, objects as keys, objects as text in key
//! position, members in any order, `null` anywhere, comments, spare commas, and references to what stands elsewhere in the
//! same text; of equal members the last one counts. It is bounded in depth, in the number of values and in what
//! references may add, and borrows texts without escapes. The writer matches fastjson byte for byte: members sorted by
//! name, no white space, its escapes, Java's way of writing `double`s. It never writes a reference.

mod double;
mod read;
mod reference;
mod value;
mod write;

pub use read::read;
pub use value::{FromJson, Key, Member, Object, Value};
pub use write::{JsonWriter, ToJson};

#[cfg(test)]
mod tests;
