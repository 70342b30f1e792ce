//! Keys that change while the gateway runs: the file of API keys, and the keys of issuers that have an address.
//!
//! A revoked key must stop working soon, so the file is looked at every two seconds. The keys of an issuer are fetched
//! at the start, and again when a token is signed with one that is not known; what was fetched is remembered on disk.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolgate_client::fetch::{Fetch, fetch};
use toolgate_config::{Config, JwtIssuer};
use toolgate_gateway::Gateway;
use toolgate_identity::{Authenticator, Jwks, KeyFile};
use toolgate_ledger::checksum::xxh64;

/// How often the file of API keys is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How long an issuer may take.
const FETCH_PATIENCE: Duration = Duration::from_secs(10);
/// How long we wait before an issuer that failed is asked again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Keys are fetched again after this long even if nobody misses one, so that withdrawn keys go.
const USUAL_AGE: Duration = Duration::from_secs(3600);
/// The largest set of keys, in bytes.
const LARGEST_SET: usize = 1024 * 1024;

/// The tasks that keep keys fresh. They end with this value, and with the gateway.
#[derive(Debug)]
pub(super) struct Upkeep {
    wishes: HashMap<String, Arc<Notify>>,
    _until: DropGuard,
}

impl Upkeep {
    /// Begins to keep the keys of an authenticator fresh.
    pub(super) fn begin(
        gateway: &Gateway,
        config: &Config,
        authenticator: &Arc<Authenticator>,
        keys_file: Option<KeyFile>,
    ) -> Upkeep {
        let until = gateway.stopping.child_token();
        let task = |work| {
            let until = until.clone();
            gateway.tracker.spawn(until_cancelled(until, work));
        };
        if let Some(file) = keys_file {
            task(Box::pin(follow_file(file, Arc::clone(authenticator))) as Work);
        }
        let mut wishes = HashMap::new();
        for issuer in config.callers.jwt.iter().filter(|issuer| issuer.jwks_url.is_some()) {
            let wish = Arc::new(Notify::new());
            wishes.insert(issuer.issuer.clone(), Arc::clone(&wish));
            let memory = memory(issuer, gateway.settings.state_dir.as_deref());
            task(Box::pin(follow_issuer(issuer.clone(), memory, wish, Arc::clone(authenticator))));
        }
        Upkeep { wishes, _until: until.drop_guard() }
    }

    /// Asks for fresh keys of an issuer.
    pub(super) fn want(&self, issuer: &str) {
        if let Some(wish) = self.wishes.get(issuer) {
            wish.notify_one();
        }
    }
}

/// The keys of an issuer as they were fetched last.
pub(super) fn remembered(issuer: &JwtIssuer, state_dir: Option<&Path>) -> Option<Jwks> {
    Jwks::parse(&fs::read(memory(issuer, state_dir)?).ok()?).ok()
}

type Work = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

async fn until_cancelled(until: CancellationToken, work: Work) {
    tokio::select! {
        () = until.cancelled() => {}
        () = work => {}
    }
}

async fn follow_file(file: KeyFile, authenticator: Arc<Authenticator>) {
    // It is read once more at the first look, since it may have changed between loading and that.
    let mut seen = None;
    loop {
        let found = look(file.path());
        if seen != Some(found) {
            let again = file.clone();
            match tokio::task::spawn_blocking(move || again.load()).await {
                Ok(Ok(keys)) => {
                    if seen.is_some() {
                        tracing::info!(keys = keys.len(), "the API keys were read again");
                    }
                    authenticator.replace_keys(keys);
                }
                Ok(Err(error)) => {
                    tracing::error!(alert = "keys", %error, "the API keys cannot be read; those known before stay");
                }
                Err(error) => tracing::error!(%error, "the API keys were not read"),
            }
            seen = Some(found);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What tells one state of a file from another. Writing it is renaming a new one into place, so its number changes too.
fn look(path: &Path) -> Option<(u64, i64, i64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

async fn follow_issuer(
    issuer: JwtIssuer,
    memory: Option<PathBuf>,
    wish: Arc<Notify>,
    authenticator: Arc<Authenticator>,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        match fetched(&issuer).await {
            Ok((keys, bytes)) => {
                authenticator.replace_issuer_keys(&issuer.issuer, keys);
                tracing::info!(issuer = issuer.issuer, "the keys of the issuer were fetched");
                if let Some(path) = &memory
                    && let Err(error) = remember(path, &bytes)
                {
                    tracing::warn!(%error, path = %path.display(), "the keys of the issuer are not remembered");
                }
                pause = FIRST_PAUSE;
                // Whether somebody misses a key or they are old by now: the keys are fetched.
                let _ = tokio::time::timeout(USUAL_AGE, wish.notified()).await;
            }
            Err(problem) => {
                tracing::error!(
                    alert = "issuer",
                    issuer = issuer.issuer,
                    problem,
                    "the keys of the issuer were not fetched"
                );
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

async fn fetched(issuer: &JwtIssuer) -> Result<(Jwks, Bytes), String> {
    let url = issuer.jwks_url.as_deref().unwrap_or_default();
    let headers = BTreeMap::from([("accept".to_owned(), "application/json".to_owned())]);
    let request = Fetch {
        method: &Method::GET,
        url,
        headers: &headers,
        body: &Bytes::new(),
        patience: FETCH_PATIENCE,
        limit: LARGEST_SET,
    };
    match fetch(request).await.map_err(|error| error.to_string())? {
        (StatusCode::OK, bytes) => Ok((Jwks::parse(&bytes).map_err(|error| error.to_string())?, bytes)),
        (status, _) => Err(format!("{url} answers with status {status}")),
    }
}

fn memory(issuer: &JwtIssuer, state_dir: Option<&Path>) -> Option<PathBuf> {
    let url = issuer.jwks_url.as_ref()?;
    Some(state_dir?.join(format!("jwks-{:016x}.json", xxh64(url.as_bytes()))))
}

fn remember(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes)?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests;
