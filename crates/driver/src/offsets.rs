//! Positions of broadcasting consumers in files, as Java's clients keep them (consumer.md 8.3).
//!
//! A group has a folder with `offsets.json`, and `offsets.json.bak` as it was before. A write goes to a temporary file
//! first, which is synced and renamed over the main one: whatever happens meanwhile, one of the two can be read. When the
//! main file is missing or cannot be understood, the other one counts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::offset::ResetOffsets;
use rocketry_codec::body::queue::QueueName;
use rocketry_core::{MessageQueue, OffsetStoreError};

const MAIN: &str = "offsets.json";
const BACKUP: &str = "offsets.json.bak";
const NEXT: &str = "offsets.json.tmp";

type Table = BTreeMap<MessageQueue, i64>;

/// Where positions are kept: a folder for each group in this one.
#[derive(Clone, Debug)]
pub(crate) struct OffsetFiles {
    folder: PathBuf,
}

impl OffsetFiles {
    pub(crate) const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// `~/.rocketmq_offsets/<client>`, where Java's clients keep them too.
    pub(crate) fn usual(client: &str) -> Self {
        let home = std::env::home_dir().unwrap_or_else(std::env::temp_dir);
        Self::new(home.join(".rocketmq_offsets").join(client))
    }

    /// The positions of a group; none where nothing was kept.
    pub(crate) fn load(&self, group: &str) -> Result<Table, OffsetStoreError> {
        let folder = self.folder.join(group);
        let main = read(&folder.join(MAIN));
        if let Ok(Some(table)) = main {
            return Ok(table);
        }
        match (read(&folder.join(BACKUP)), main) {
            (Ok(Some(table)), _) => Ok(table),
            (Ok(None), Ok(_)) => Ok(Table::new()),
            // Neither can be understood: to begin anew would be to forget.
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// Replaces the positions of a group.
    pub(crate) fn keep(&self, group: &str, offsets: &Table) -> Result<(), OffsetStoreError> {
        let folder = self.folder.join(group);
        write(&folder, offsets).map_err(|error| OffsetStoreError::new(format!("{}: {error}", folder.display())))
    }
}

/// A file's positions; `None` where there is none, or an empty one.
fn read(path: &Path) -> Result<Option<Table>, OffsetStoreError> {
    let failed = |error: &dyn std::fmt::Display| OffsetStoreError::new(format!("{}: {error}", path.display()));
    let text = match fs::read(path) {
        Ok(text) if text.is_empty() => return Ok(None),
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let table = ResetOffsets::decode(&text).map_err(|error| failed(&error))?;
    let queue = |name: QueueName| MessageQueue::new(name.topic.as_str(), name.broker_name.as_str(), name.queue_id);
    Ok(Some(table.offsets.into_iter().map(|(name, offset)| (queue(name), offset)).collect()))
}

fn write(folder: &Path, offsets: &Table) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let name = |queue: &MessageQueue| QueueName {
        topic: queue.topic.as_str().into(),
        broker_name: queue.broker.as_str().into(),
        queue_id: queue.id,
    };
    let body = ResetOffsets { offsets: offsets.iter().map(|(queue, offset)| (name(queue), *offset)).collect() };
    let (main, next) = (folder.join(MAIN), folder.join(NEXT));
    let mut file = File::create(&next)?;
    file.write_all(body.encode().as_bytes())?;
    file.sync_all()?;
    // What cannot be understood must not take the place of what can.
    if matches!(read(&main), Ok(Some(_))) {
        fs::rename(&main, folder.join(BACKUP))?;
    }
    fs::rename(next, main)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(name: &str) -> OffsetFiles {
        let folder = std::env::temp_dir().join(format!("rocketry-offsets-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        OffsetFiles::new(folder)
    }

    fn table(offset: i64) -> Table {
        [(MessageQueue::new("T", "broker-a", 0), offset), (MessageQueue::new("T", "broker-a", 1), 7)].into()
    }

    #[test]
    fn what_is_kept_is_loaded() {
        let files = files("kept");
        assert_eq!(files.load("g"), Ok(Table::new()));
        for offset in 1..4 {
            assert_eq!(files.keep("g", &table(offset)), Ok(()));
            assert_eq!(files.load("g"), Ok(table(offset)));
        }
        assert_eq!(files.load("other"), Ok(Table::new()));
    }

    #[test]
    fn a_torn_file_leads_to_the_one_before_and_two_torn_ones_to_an_error() {
        let files = files("torn");
        files.keep("g", &table(1)).expect("kept");
        files.keep("g", &table(2)).expect("kept");
        let main = files.folder.join("g").join(MAIN);
        let whole = fs::read(&main).expect("the file");
        for length in 1..whole.len() {
            fs::write(&main, &whole[..length]).expect("written");
            assert_eq!(files.load("g"), Ok(table(1)), "{length} bytes");
        }
        files.keep("g", &table(3)).expect("kept");
        fs::write(&main, "{").expect("written");
        assert_eq!(files.load("g"), Ok(table(1)), "a torn file never became the backup");
        fs::write(files.folder.join("g").join(BACKUP), "{").expect("written");
        let error = files.load("g").expect_err("neither can be read");
        assert!(error.reason.contains("offsets.json"), "{}", error.reason);
    }

    /// The file that Java's client writes (consumer.md A.2).
    #[test]
    fn javas_layout_is_read() {
        let files = files("java");
        let folder = files.folder.join("g");
        fs::create_dir_all(&folder).expect("a folder");
        let java = "{\n\t\"offsetTable\":{{\n\t\t\t\"brokerName\":\"broker-a\",\n\t\t\t\"queueId\":3,\n\t\t\t\"topic\":\"T\"\n\t\t}:42\n\t}\n}";
        fs::write(folder.join(MAIN), java).expect("written");
        assert_eq!(files.load("g"), Ok([(MessageQueue::new("T", "broker-a", 3), 42)].into()));
    }
}
