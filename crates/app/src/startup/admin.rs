//! The interface of operators, as the configuration wants it.

use std::sync::Arc;

use tokio::net::TcpListener;
use toolgate_admin::{Api, Operations, Place, Token};
use toolgate_config::{AdminConfig, Config};
use toolgate_gateway::Gateway;
use toolgate_gateway::downstream::annex;
use toolgate_gateway::downstream::door::Annex;

use crate::startup::{StartError, files};

/// Begins to serve operators. Nothing happens where the configuration does not say where.
pub(crate) async fn open(gateway: &Arc<Gateway>, config: &Config) -> Result<(), StartError> {
    gateway.annex.store(annex(gateway, config)?);
    let Some(address) = config.admin.listen.as_deref().filter(|place| !place.starts_with('/')) else {
        return Ok(());
    };
    if gateway.annex.load().is_none() {
        return Ok(());
    }
    let failed = |cause| StartError::AdminListen { address: address.to_owned(), cause };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    tracing::info!(address = %format!("http://{local}/api/v1"), "operators are served");
    gateway.tracker.spawn(annex::serve(Arc::clone(gateway), listener));
    Ok(())
}

/// What serves operators; nothing where the configuration gives it no place or no token.
pub(crate) fn annex(
    gateway: &Arc<Gateway>,
    config: &Config,
) -> Result<Option<Arc<Box<dyn Annex>>>, StartError> {
    let Some(place) = &config.admin.listen else { return Ok(None) };
    let Some(token) = token(&config.admin)? else {
        tracing::warn!("operators are not served: give admin.token_file or admin.token_env");
        return Ok(None);
    };
    let place = if place.starts_with('/') { Place::Below(place.clone()) } else { Place::OwnListener };
    let api: Box<dyn Annex> = Box::new(Api::new(Operations::new(gateway), token, place));
    Ok(Some(Arc::new(api)))
}

fn token(admin: &AdminConfig) -> Result<Option<Token>, StartError> {
    let (text, source) = match (&admin.token_file, &admin.token_env) {
        (Some(path), _) => {
            let text = std::fs::read_to_string(path);
            let failed = |cause| StartError::Token(format!("{} cannot be read: {cause}", path.display()));
            (text.map_err(failed)?, path.display().to_string())
        }
        (None, Some(name)) => {
            let text = files::variable(name);
            let missing = || StartError::Token(format!("the variable {name} is not set"));
            (text.ok_or_else(missing)?, format!("the variable {name}"))
        }
        (None, None) => return Ok(None),
    };
    match Token::new(&text) {
        Some(token) => Ok(Some(token)),
        None => Err(StartError::Token(format!("{source} is empty"))),
    }
}
