//! A server written with `rmcp`, which knows nothing of the gateway: tools that report progress, can be cancelled, ask
//! back, and appear when they are of use.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::handler::server::tool::InputResponses;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams, ElicitationSchema,
    ErrorData, InputRequest, InputRequiredResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::watch;

/// How many loaves go into the oven together.
const OVEN: u32 = 100;

/// The server. Clones are handlers of the same bakery.
#[derive(Clone)]
pub(crate) struct Bakery {
    shelf: Arc<watch::Sender<Shelf>>,
    /// How long a loaf is in the oven.
    baking_time: Duration,
}

/// What there is to sell, and what will be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shelf {
    pub loaves: u32,
    pub in_the_oven: u32,
}

/// Bread while it is baked. It is lost when nobody waits for it any more.
struct Oven<'a> {
    shelf: &'a watch::Sender<Shelf>,
    loaves: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Bake {
    /// How many loaves.
    loaves: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Customer {
    /// What is called out when the bread is ready.
    name: String,
}

impl Bakery {
    /// A bakery with an empty shelf.
    pub(crate) fn new(baking_time: Duration) -> Bakery {
        Bakery { shelf: Arc::default(), baking_time }
    }

    /// Follows what happens on the shelf.
    pub(crate) fn watch(&self) -> watch::Receiver<Shelf> {
        self.shelf.subscribe()
    }
}

impl<'a> Oven<'a> {
    fn heat(shelf: &'a watch::Sender<Shelf>, loaves: u32) -> Oven<'a> {
        shelf.send_modify(|shelf| shelf.in_the_oven += loaves);
        Oven { shelf, loaves }
    }
}

impl Drop for Oven<'_> {
    fn drop(&mut self) {
        self.shelf.send_modify(|shelf| shelf.in_the_oven -= self.loaves);
    }
}

#[tool_router]
impl Bakery {
    /// Bakes bread, one loaf after the other.
    #[tool]
    async fn bake(
        &self,
        Parameters(Bake { loaves }): Parameters<Bake>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        if loaves > OVEN {
            return Err(ErrorData::invalid_params(format!("the oven takes {OVEN} loaves"), None));
        }
        let oven = Oven::heat(&self.shelf, loaves);
        for baked in 1..=loaves {
            tokio::select! {
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the oven was switched off", None));
                }
                () = tokio::time::sleep(self.baking_time) => {}
            }
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, baked.into()).with_total(loaves.into());
                // A client that has left does not want to know.
                let _ = context.peer.notify_progress(progress).await;
            }
        }
        drop(oven);
        self.shelf.send_modify(|shelf| shelf.loaves = shelf.loaves.saturating_add(loaves));
        Ok(format!("{loaves} loaves are on the shelf"))
    }

    /// Sells a loaf to whoever wants it. Listed only while there is bread.
    #[tool]
    async fn sell(&self, InputResponses(responses): InputResponses) -> Result<CallToolResponse, ErrorData> {
        let Some(responses) = responses else { return Ok(ask_for_the_customer()?.into()) };
        let answer =
            responses.get("customer").map(|response| response["content"].clone()).unwrap_or_default();
        let Ok(customer) = serde_json::from_value::<Customer>(answer) else {
            return Ok(CallToolResult::error(vec![ContentBlock::text("nobody wants the bread")]).into());
        };
        let mut sold = false;
        self.shelf.send_if_modified(|shelf| {
            sold = shelf.loaves > 0;
            shelf.loaves = shelf.loaves.saturating_sub(1);
            sold
        });
        let text = if sold { format!("bread for {}", customer.name) } else { "there is no bread".to_owned() };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[tool_handler]
impl ServerHandler for Bakery {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = Self::tool_router().list_all();
        let open = self.shelf.borrow().loaves > 0;
        tools.retain(|tool| open || tool.name != "sell");
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    /// Tells a listener whenever the bakery has sold out or has bread again.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut shelf = self.watch();
        let mut was_open = shelf.borrow().loaves > 0;
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = shelf.changed() => if changed.is_err() { return Ok(()) },
            }
            let is_open = shelf.borrow_and_update().loaves > 0;
            if is_open != was_open && context.sink().notify_tool_list_changed().await.is_err() {
                return Ok(());
            }
            was_open = is_open;
        }
    }
}

/// The answer of a tool that has a question: it is called again with what the user said.
fn ask_for_the_customer() -> Result<InputRequiredResult, ErrorData> {
    let requested_schema = ElicitationSchema::from_type::<Customer>()
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "For whom is the bread?".to_owned(),
        requested_schema,
    };
    let question = InputRequest::Elicitation(ElicitRequest::new(question));
    Ok(InputRequiredResult::from_input_requests(BTreeMap::from([("customer".to_owned(), question)])))
}
