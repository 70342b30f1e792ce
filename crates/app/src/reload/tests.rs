use std::path::PathBuf;

use toolgate_config::{Overrides, Request};
use toolgate_gateway::Gateway;

use super::*;

/// A gateway without servers whose configuration is in a file.
struct Scene {
    folder: tempfile::TempDir,
    gateway: Arc<Gateway>,
    reloader: Reloader,
}

fn load(path: PathBuf) -> Loaded {
    let overrides =
        Overrides { set: vec![("runtime.auto_reload".into(), "false".into())], ..Overrides::default() };
    toolgate_config::load(&Request { paths: vec![path], overrides, strict: false, environment: &|_| None })
}

impl Scene {
    fn with(text: &str) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("toolgate.yaml");
        std::fs::write(&path, text).unwrap();
        let loaded = load(path.clone());
        let running = startup::start(&loaded.config, None).unwrap();
        let gateway = Arc::clone(&running.gateway);
        let reloader = begin(running, loaded, move || load(path.clone()));
        Scene { folder, gateway, reloader }
    }

    async fn change(&self, text: &str) -> Result<Difference, NotReloaded> {
        std::fs::write(self.folder.path().join("toolgate.yaml"), text).unwrap();
        self.reloader.reload(false).await
    }
}

#[tokio::test]
async fn a_bad_file_changes_nothing_and_says_why_until_it_is_right() {
    let scene = Scene::with("log: {level: info}\n");
    let refused = scene.change("log: {level: loud}\n").await.unwrap_err().to_string();
    assert!(refused.contains("toolgate.yaml:1:14: log.level"), "{refused}");
    let problem = scene.gateway.reload_problem.load_full();
    assert!(problem.is_some_and(|problem| problem.contains("log.level")));
    let difference = scene.change("log: {level: warn}\n").await.unwrap();
    assert_eq!(difference.settings, ["log.level"]);
    assert!(scene.gateway.reload_problem.load_full().is_none());
}

#[tokio::test]
async fn what_needs_a_restart_is_told_apart() {
    let scene = Scene::with("listen: {port: 8080}\n");
    let difference = scene.change("listen: {port: 8081}\nnames: plain\nlog: {level: warn}\n").await.unwrap();
    assert_eq!(difference.settings, ["log.level", "names"]);
    assert_eq!(difference.needs_restart, ["listen.port"]);
    let again = scene.change("listen: {port: 8081, host: localhost}\nnames: plain\n").await.unwrap();
    assert_eq!(again.needs_restart, ["listen.host", "listen.port"]);
    assert_eq!(**scene.gateway.needs_restart.load(), ["listen.host", "listen.port"]);
    assert_eq!(scene.change("listen: {port: 8080}\n").await.unwrap().needs_restart, [""; 0]);
    assert!(scene.gateway.needs_restart.load().is_empty());
}

#[tokio::test]
async fn a_gateway_that_stops_reloads_no_more() {
    let scene = Scene::with("{}\n");
    scene.gateway.stop(std::time::Duration::from_secs(1)).await;
    assert_eq!(scene.reloader.reload(false).await, Err(NotReloaded::Stopping));
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let scene = Scene::with("log: {level: info}\n");
    std::fs::write(scene.folder.path().join("toolgate.yaml"), "log: {level: warn}\n").unwrap();
    for _ in 0..2 {
        assert_eq!(scene.reloader.reload(true).await.unwrap().settings, ["log.level"]);
    }
    assert_eq!(scene.reloader.reload(false).await.unwrap().settings, ["log.level"]);
    assert!(scene.reloader.reload(true).await.unwrap().is_empty());
}
