//! A minimal `rmcp` server with one tool and no skills, as a baseline for `metier serve`. With an argument it
//! runs on one thread.

use rmcp::ServiceExt as _;
use rmcp::model::{
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use tokio::runtime::Builder;

struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![Tool::new("nothing", "Does nothing", JsonObject::new())]))
    }
}

fn main() -> std::io::Result<()> {
    let has_one_thread = std::env::args_os().len() > 1;
    let mut builder =
        if has_one_thread { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    let runtime = builder.enable_all().build()?;
    runtime.block_on(async {
        if let Ok(running) = Box::pin(Bare.serve(rmcp::transport::io::stdio_pipes())).await {
            let _ = running.waiting().await;
        }
    });
    Ok(())
}
