//! A store that answers: what it is asked, and how its answers are read.

use crate::error::{Error, Result};
use crate::fault::{Fault, Kind};
use crate::folder;
use crate::location::{Location, Place};
use bytes::Bytes;
use ccactl_host::interrupt;
use futures_util::{StreamExt, TryStreamExt};
use memmap2::Mmap;
use nix::sys::statvfs::statvfs;
use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{ClientOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, RetryConfig};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// Stands at the prefix of every store. Making it proves that the credentials may put objects there; that it cannot be
/// made twice proves that the store keeps what is there.
pub(crate) const MARKER: &str = "_ccactl";
pub(crate) const MARKER_TEXT: &str = "Recordings of ccactl: date=DATE/host=HOST/DATASET/part-NNNNN.parquet\n";

/// Any of them says who we are.
const CREDENTIALS: [&str; 4] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// For a request that carries nothing to speak of.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// The same before a recording begins, when somebody waits.
const PROBE_WITHIN: Duration = Duration::from_secs(10);
/// A line that is slower is as good as cut: 2 Mbit/s.
const SLOWEST_BYTES_PER_S: u64 = 256 << 10;
const LOOK_FOR_SIGNALS: Duration = Duration::from_millis(50);
/// Of a download, without a byte.
const SILENCE: Duration = Duration::from_secs(30);

/// What has become of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The store has it now.
    Stored,
    /// The store had it already, to the byte.
    WasThere,
}

/// What has been brought here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    /// Recordings, or parts of them.
    pub files: usize,
    /// All of them.
    pub bytes: u64,
}

/// The variables that begin with `AWS_`: who we are, and where the store is.
#[derive(Debug, Clone, Default)]
pub struct Settings(Vec<(String, String)>);

impl Settings {
    /// Those of this process.
    #[must_use]
    pub fn from_env() -> Settings {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Settings::of(std::env::vars_os().filter_map(text))
    }

    /// From pairs of name and value; other names are passed over.
    #[must_use]
    pub fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Settings {
        Settings(pairs.into_iter().filter(|(name, _)| name.starts_with("AWS_")).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn has_credentials(&self) -> bool {
        CREDENTIALS.iter().any(|name| self.get(name).is_some())
    }
}

/// A bucket or a folder.
#[derive(Debug, Clone)]
pub struct Store {
    location: Location,
    pub(crate) objects: Arc<dyn ObjectStore>,
    has_credentials: bool,
    answer_within: Duration,
}

impl Store {
    /// For sending: a request is made once, as the uploader has its own way to try again.
    ///
    /// # Errors
    /// [`Error::Settings`] when the settings contradict each other.
    pub fn to(location: &Location, settings: &Settings) -> Result<Store> {
        Store::open(location, settings, RetryConfig { max_retries: 0, ..RetryConfig::default() })
    }

    /// For reading.
    ///
    /// # Errors
    /// As [`Store::to`].
    pub fn from(location: &Location, settings: &Settings) -> Result<Store> {
        let retry = RetryConfig { retry_timeout: ANSWER_WITHIN, max_retries: 5, ..RetryConfig::default() };
        Store::open(location, settings, retry)
    }

    fn open(location: &Location, settings: &Settings, retry: RetryConfig) -> Result<Store> {
        let objects: Arc<dyn ObjectStore> = match &location.place {
            Place::Bucket(bucket) => {
                // A large part takes its time: see `put`.
                let client = ClientOptions::new().with_timeout_disabled();
                let mut builder = AmazonS3Builder::new().with_client_options(client);
                for (name, value) in &settings.0 {
                    if let Ok(key) = name.to_ascii_lowercase().parse() {
                        builder = builder.with_config(key, value);
                    }
                }
                let builder = builder.with_bucket_name(bucket).with_retry(retry);
                let wrong = |error: object_store::Error| Error::Settings {
                    location: location.to_string(),
                    found: Fault::of(&error).found,
                };
                Arc::new(builder.with_conditional_put(S3ConditionalPut::ETagMatch).build().map_err(wrong)?)
            }
            Place::Folder(_) => Arc::new(LocalFileSystem::new()),
        };
        let is_folder = matches!(location.place, Place::Folder(_));
        Ok(Store {
            location: location.clone(),
            objects,
            has_credentials: is_folder || settings.has_credentials(),
            answer_within: ANSWER_WITHIN,
        })
    }

    /// The same with another patience for one answer; a part gets more by its size.
    #[must_use]
    pub fn with_answer_within(self, answer_within: Duration) -> Store {
        Store { answer_within, ..self }
    }

    /// Where it is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// An error of this store.
    #[must_use]
    pub fn error(&self, fault: Fault) -> Error {
        Error::Store { location: self.location.to_string(), fault }
    }

    /// Asks with one or two small requests whether parts may be put here, and whether what is there stays.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn probe(&self) -> std::result::Result<(), Fault> {
        if let Place::Folder(root) = self.location.place.clone() {
            let mark = tokio::task::spawn_blocking(move || folder::mark(&root));
            return mark.await.map_err(|error| Fault::new(Kind::Local, error.to_string()))?;
        }
        let marker = self.location.key(MARKER);
        let text = Bytes::from_static(MARKER_TEXT.as_bytes());
        let within = PROBE_WITHIN.min(self.answer_within);
        for _ in 0..2 {
            match timeout(within, self.create(&marker, text.clone())).await.map_err(late(within))? {
                Err(object_store::Error::AlreadyExists { .. }) => return Ok(()),
                Err(error) => return Err(self.hinted(Fault::of(&error))),
                Ok(()) => {}
            }
        }
        Err(Fault::new(Kind::Overwrites, "it writes over an object that is there, in spite of If-None-Match"))
    }

    /// Without credentials in the settings, the library asks the machine's metadata service.
    pub(crate) fn hinted(&self, mut fault: Fault) -> Fault {
        if !self.has_credentials && fault.kind == Kind::Unreachable {
            fault.kind = Kind::Denied;
            fault.found = format!(
                "no credentials: no AWS_ACCESS_KEY_ID, and this machine's metadata service gave none ({})",
                fault.found
            );
        }
        fault
    }

    /// The same from outside of a runtime. What may pass by itself is no error, and is given back.
    ///
    /// # Errors
    /// [`Error::Store`] for what waiting does not mend, [`Error::Interrupted`], [`Error::Thread`].
    pub fn probe_now(&self) -> Result<Option<Fault>> {
        match blocking(self.probe())? {
            Ok(()) => Ok(None),
            Err(fault) if fault.may_pass() => Ok(Some(fault)),
            Err(fault) => Err(self.error(fault)),
        }
    }

    /// [`Store::fetch`] from outside of a runtime.
    ///
    /// # Errors
    /// The same.
    pub fn fetch_now(&self, folder: &Path) -> Result<Fetched> {
        blocking(self.fetch(folder))?
    }

    /// Puts a file under this name, where nothing stands yet.
    ///
    /// # Errors
    /// [`Fault`]; whether the store has the part is not known then.
    pub async fn put(&self, name: &str, file: &File) -> std::result::Result<Put, Fault> {
        // SAFETY: a finished part of our spool, which nobody else may enter, is not written to any more.
        let content = unsafe { Mmap::map(file) }.map_err(|error| Fault::new(Kind::Local, error.to_string()))?;
        let content = Bytes::from_owner(content);
        if let Place::Folder(root) = &self.location.place {
            let (root, name) = (root.clone(), name.to_owned());
            let put = tokio::task::spawn_blocking(move || folder::put_below(&root, &name, &content));
            return put.await.map_err(|error| Fault::new(Kind::Local, error.to_string()))?;
        }
        let within = self.answer_within + Duration::from_secs(content.len() as u64 / SLOWEST_BYTES_PER_S);
        let key = self.location.key(name);
        match timeout(within, self.create(&key, content.clone())).await.map_err(late(within))? {
            Ok(()) => Ok(Put::Stored),
            Err(object_store::Error::AlreadyExists { .. }) => {
                timeout(within, self.compare(&key, &content)).await.map_err(late(within))?
            }
            Err(error) => Err(Fault::of(&error)),
        }
    }

    async fn create(&self, key: &Key, content: Bytes) -> object_store::Result<()> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        self.objects.put_opts(key, content.into(), options).await.map(drop)
    }

    /// Whether what stands under the name is this, to the byte.
    async fn compare(&self, key: &Key, content: &Bytes) -> std::result::Result<Put, Fault> {
        let other = || Fault::new(Kind::Conflict, "something else stands there");
        let found = match self.objects.get(key).await {
            Ok(found) => found,
            // It has gone since, somebody is about to put it, or the store is at odds with itself.
            Err(object_store::Error::NotFound { .. }) => {
                let found = format!("{key} is said to be there, and is not found");
                return Err(Fault::new(Kind::Unclear, found));
            }
            Err(error) => {
                let fault = Fault::of(&error);
                let kind = if fault.kind == Kind::Denied { Kind::Conflict } else { fault.kind };
                return Err(Fault::new(
                    kind,
                    format!("an object of that name is there, and cannot be compared: {fault}"),
                ));
            }
        };
        if found.meta.size != content.len() as u64 {
            return Err(other());
        }
        let mut rest = content.clone();
        let mut chunks = found.into_stream();
        while let Some(chunk) = chunks.try_next().await.map_err(|error| Fault::of(&error))? {
            if !rest.starts_with(&chunk) {
                return Err(other());
            }
            rest = rest.slice(chunk.len()..);
        }
        if rest.is_empty() { Ok(Put::WasThere) } else { Err(other()) }
    }

    /// Brings all recordings below the location into a folder, as `host=HOST/DATASET/part-00000.parquet`: those of a bucket
    /// as copies, which have room there, those of a folder as links.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn fetch(&self, folder: &Path) -> Result<Fetched> {
        let objects = self.recordings().await?;
        if objects.is_empty() {
            return Err(Error::Nothing { location: self.location.to_string() });
        }
        let bytes = objects.iter().map(|object| object.size).sum();
        let is_bucket = matches!(self.location.place, Place::Bucket(_));
        if is_bucket {
            let disk = statvfs(folder).map_err(|errno| Error::spool("look at", folder)(errno.into()))?;
            let free = disk.blocks_available() as u64 * disk.fragment_size() as u64;
            if bytes > free {
                let location = self.location.to_string();
                return Err(Error::NoRoom { location, needed: bytes, free, folder: folder.to_owned() });
            }
        }
        for (number, object) in objects.iter().enumerate() {
            let to = place_for(folder, object, number)?;
            if is_bucket {
                self.copy(&object.location, &to).await?;
            } else {
                let from = PathBuf::from(format!("/{}", object.location));
                symlink(from, &to).map_err(Error::spool("link", &to))?;
            }
        }
        Ok(Fetched { files: objects.len(), bytes })
    }

    async fn recordings(&self) -> Result<Vec<ObjectMeta>> {
        let failed = |error: object_store::Error| self.error(self.hinted(Fault::of(&error)));
        let missing = || self.error(Fault::new(Kind::Missing, "it does not exist"));
        let below = self.below()?.ok_or_else(missing)?;
        if self.location.is_one_file() {
            return Ok(vec![self.objects.head(&below).await.map_err(failed)?]);
        }
        let mut found: Vec<ObjectMeta> = Vec::new();
        let mut objects = self.objects.list(Some(&below).filter(|key| !key.as_ref().is_empty()));
        while let Some(object) = objects.next().await {
            let object = object.map_err(failed)?;
            if object.location.extension() == Some("parquet") {
                found.push(object);
            }
        }
        found.sort_by(|a, b| a.location.cmp(&b.location));
        Ok(found)
    }

    /// What the keys of all objects here begin with; `None` for a folder that does not exist.
    pub(crate) fn below(&self) -> Result<Option<Key>> {
        match &self.location.place {
            Place::Bucket(_) => Ok(Some(self.location.prefix.clone())),
            Place::Folder(root) if !root.exists() => Ok(None),
            Place::Folder(root) => {
                let key = Key::from_absolute_path(root).map_err(|error| self.error(Fault::of(&error.into())))?;
                Ok(Some(key))
            }
        }
    }

    /// Brings an object into a new file.
    pub(crate) async fn copy(&self, key: &Key, to: &Path) -> Result<()> {
        let failed = |error: object_store::Error| self.error(Fault::of(&error));
        let silent = |_| {
            let found = format!("no byte of {key} within {} s", SILENCE.as_secs());
            self.error(Fault::new(Kind::Slow, found))
        };
        let local = |cause| Error::Copy { path: to.to_owned(), cause };
        // In a folder of our own, which nobody else may enter.
        let mut file = File::create_new(to).map_err(local)?;
        let found = timeout(SILENCE, self.objects.get(key)).await.map_err(silent)?.map_err(failed)?;
        let mut chunks = found.into_stream();
        while let Some(chunk) = timeout(SILENCE, chunks.try_next()).await.map_err(silent)?.map_err(failed)? {
            file.write_all(&chunk).map_err(local)?;
        }
        Ok(())
    }
}

/// Where an object goes: by the last three parts of its name, as far as a report looks into a folder. What somebody else
/// has named alike gets a number.
fn place_for(folder: &Path, object: &ObjectMeta, number: usize) -> Result<PathBuf> {
    let parts: Vec<_> = object.location.parts().collect();
    let kept = &parts[parts.len().saturating_sub(3)..];
    let mut to = kept.iter().fold(folder.to_owned(), |path, part| path.join(part.as_ref()));
    if to.exists() {
        let name = format!("{number}-{}", to.file_name().unwrap_or_default().display());
        to.set_file_name(name);
    }
    let parent = to.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(Error::spool("make", parent))?;
    Ok(to)
}

/// Waits for an answer, but no longer than the user does.
pub(crate) fn blocking<T>(work: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    let is_asked_to_end = async {
        while !interrupt::is_requested() {
            tokio::time::sleep(LOOK_FOR_SIGNALS).await;
        }
    };
    let done = runtime.block_on(async {
        tokio::select! {
            done = work => Ok(done),
            () = is_asked_to_end => Err(Error::Interrupted),
        }
    });
    runtime.shutdown_background();
    done
}

fn late(within: Duration) -> impl FnOnce(Elapsed) -> Fault {
    move |_| Fault::new(Kind::Slow, format!("no answer within {} s", within.as_secs_f64()))
}
