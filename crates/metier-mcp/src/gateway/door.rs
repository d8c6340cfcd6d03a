//! Requests of clients: those about skills are answered here, all others are passed to the servers.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{ClientRequest, CustomRequest, ErrorCode, InitializeRequestParams};
use rmcp::service::{RequestContext, RoleServer, Service};
use serde_json::{Map, Value, json};

use super::items::{self, List};
use super::link::{Link, Served};
use super::{Gateway, forward};
use crate::connection::{McpConnection, is_modern, principal};
use crate::upstream::{Caller, Generation, UpstreamError};
use crate::{output, prompts, renamed};

impl McpConnection {
    /// The connections to the servers for this request: those of the session, or those that stateless clients share.
    pub(crate) fn link_of(&self, gateway: &Arc<Gateway>, context: &RequestContext<RoleServer>) -> Arc<Link> {
        let caller = || Caller {
            generation: forward::generation_of(context),
            capabilities: forward::capabilities_of(context),
        };
        if let Some(link) = self.link.get() {
            return Arc::clone(link);
        }
        let is_http = context.extensions.get::<axum::http::request::Parts>().is_some();
        if is_modern(context) && is_http {
            return gateway.shared(principal(context), caller);
        }
        let link = Arc::clone(self.link.get_or_init(|| Link::new(Arc::clone(gateway), caller())));
        link.tell(context.peer.clone());
        link
    }

    /// The connections for a client that shakes hands. The servers are started for it.
    pub(crate) async fn greeted(
        &self,
        gateway: &Arc<Gateway>,
        request: &InitializeRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Arc<Link> {
        let capabilities = serde_json::to_value(&request.capabilities).unwrap_or_default();
        let caller = Caller { generation: Generation::Handshake, capabilities };
        let link = Arc::clone(self.link.get_or_init(|| Link::new(Arc::clone(gateway), caller)));
        link.tell(context.peer.clone());
        link.begin().await;
        link
    }

    /// The names of metier's own tools.
    pub(super) fn own_tools(&self) -> Vec<String> {
        self.library.shown().tools.iter().map(|tool| tool.name.to_string()).collect()
    }

    /// The answer of metier itself. Its type is erased, because it may come back to where it is called from.
    fn own<'a>(
        &'a self,
        method: &str,
        params: Value,
        context: RequestContext<RoleServer>,
    ) -> Pin<Box<dyn Future<Output = Result<Value, ErrorData>> + Send + 'a>> {
        let mut request = json!({ "method": method });
        request["params"] = params;
        let request = serde_json::from_value::<ClientRequest>(request);
        Box::pin(async move {
            let request = request.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
            let own = Box::pin(Service::handle_request(self, request, context)).await?;
            serde_json::to_value(own).map_err(|error| ErrorData::internal_error(error.to_string(), None))
        })
    }

    /// The list of the skills, followed by those of the servers.
    async fn list(
        &self,
        list: List,
        link: &Arc<Link>,
        params: Value,
        context: RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let mut listed = self.own(list.method(), params, context).await?;
        if listed.get("nextCursor").is_some_and(|cursor| !cursor.is_null()) {
            return Ok(listed);
        }
        let more: Vec<Value> = if list == List::Tools {
            link.tools(&self.library, &self.own_tools()).await.shown().collect()
        } else {
            entries(link, list).await.into_iter().map(|(_, entry)| Value::Object(entry)).collect()
        };
        if let Some(entries) = listed[list.member()].as_array_mut() {
            entries.extend(more);
        }
        Ok(listed)
    }

    /// Passes a request to a server, and its answer back.
    async fn pass(
        &self,
        link: &Link,
        served: &Served,
        method: &str,
        params: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let forwarded = forward::forward(link, served, method, params, context).await;
        answer(served, method, forwarded, context)
    }

    /// Answers a request that a server may answer. It arrives with another name: see [`renamed`].
    pub(crate) async fn route(
        &self,
        gateway: &Arc<Gateway>,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let link = self.link_of(gateway, &context);
        let meta = Some(&context.meta.0.0).filter(|meta| !meta.is_empty());
        let mut params = request.params.clone().filter(Value::is_object).unwrap_or_else(|| json!({}));
        if let Some(meta) = meta {
            params["_meta"] = Value::Object(meta.clone());
        }
        let Some(method) = renamed::original(&request.method) else {
            let served = only(&link, &params).filter(|_| !is_ours(&request.method));
            return match served {
                Some(served) => self.pass(&link, &served, &request.method, params, &context).await,
                None => self.own_request(request, &context).await.map(|own| own.0),
            };
        };
        let lists = [List::Tools, List::Prompts, List::Resources, List::Templates];
        if let Some(list) = lists.into_iter().find(|list| list.method() == method) {
            return self.list(list, &link, params, context).await;
        }
        let text = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let served = match method {
            "tools/call" => {
                let (name, own) = (text("name"), self.own_tools());
                if name.is_empty() || own.contains(&name) {
                    return self.own(method, params, context).await;
                }
                let tool = link.tool(&name, &self.library, &own).await;
                let unknown = || ErrorData::invalid_params(format!("Unknown tool: {name}"), None);
                let tool = tool.ok_or_else(unknown)?;
                return self.call_server(&link, &tool, &name, params, &context).await;
            }
            "prompts/get" => {
                let name = text("name");
                let view = self.library.view().await;
                if view.is_ok_and(|view| prompts::is_there(&view, &name)) {
                    None
                } else {
                    owner(&link, List::Prompts, |entry| entry == name).await
                }
            }
            // From 2026-07-28 on these do not exist.
            "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" if is_modern(&context) => {
                None
            }
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                of_uri(&link, &text("uri")).await
            }
            "completion/complete" => completed(&link, &params["ref"]).await,
            "logging/setLevel" => return self.set_level(&link, params, &context).await,
            _ => only(&link, &params),
        };
        match served {
            Some(served) => self.pass(&link, &served, method, params, &context).await,
            None => self.own(method, params, context).await,
        }
    }

    /// Sets the level of log messages at every server that has them.
    async fn set_level(
        &self,
        link: &Arc<Link>,
        params: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let with_logs: Vec<_> =
            link.present().filter(|(_, _, connected)| connected.offers("logging")).collect();
        if with_logs.is_empty() {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "no server has log messages", None));
        }
        let mut last = Ok(json!({}));
        for (_, served, _) in with_logs {
            last = self.pass(link, served, "logging/setLevel", params.clone(), context).await;
        }
        last
    }
}

/// The answer to a client from what came of a request.
pub(super) fn answer(
    served: &Served,
    method: &str,
    forwarded: Result<forward::Forwarded, UpstreamError>,
    context: &RequestContext<RoleServer>,
) -> Result<Value, ErrorData> {
    match forwarded {
        Ok(forward::Forwarded::Replied(Ok(value))) if value.is_object() => {
            Ok(forward::translated(value, method, is_modern(context)))
        }
        Ok(forward::Forwarded::Replied(Ok(_))) => {
            Err(unavailable(served, &UpstreamError::protocol("its answer is not an object")))
        }
        Ok(forward::Forwarded::Replied(Err(error))) => Err(error_of(error)),
        Ok(forward::Forwarded::Waits { .. }) => {
            Err(unavailable(served, &UpstreamError::protocol("it asks for input where none can be given")))
        }
        Ok(forward::Forwarded::Cancelled) => {
            Err(ErrorData::internal_error("the request was cancelled", None))
        }
        Err(error) => Err(unavailable(served, &error)),
    }
}

/// An error of a server as it sent it.
pub(super) fn error_of(error: Value) -> ErrorData {
    serde_json::from_value(error)
        .unwrap_or_else(|_| ErrorData::internal_error("the server answered with an invalid error", None))
}

fn unavailable(served: &Served, error: &UpstreamError) -> ErrorData {
    use metier_skill::Coded as _;
    let data = json!({ "code": error.code(), "server": served.server.name });
    ErrorData::internal_error(format!("{}: {error}", served.server.name), Some(data))
}

/// Whether a method without a type in `rmcp` is one of the Skills extension, malformed, or may call a tool in a way that
/// is unknown here and so cannot be decided.
fn is_ours(method: &str) -> bool {
    let ours = ["skills/list", "skills/get", "resources/directory/read"];
    let malformed = ["tools/call", "prompts/get", "resources/read", "completion/complete", "initialize"];
    ours.contains(&method) || malformed.contains(&method) || method.starts_with("tools/")
}

/// The entries of a list at all servers, each with its server. If two have the same, the first one counts.
async fn entries(link: &Arc<Link>, list: List) -> Vec<(Arc<Served>, Map<String, Value>)> {
    link.begin().await;
    let reading = link.present().map(|(_, served, connected)| {
        let (served, caller) = (Arc::clone(served), link.caller().clone());
        async move {
            let read = items::read(&connected, list, &caller, served.server.patience).await;
            if let Err(error) = &read {
                connected.wire.end(error.clone());
            }
            (served, read.unwrap_or_default())
        }
    });
    let mut seen = std::collections::HashSet::new();
    let mut entries = Vec::new();
    for (served, read) in futures_util::future::join_all(reading).await {
        for entry in read {
            let key = entry.get(list.key()).and_then(Value::as_str).unwrap_or_default();
            // Addresses of skills mean ours.
            let is_reserved = key.starts_with("skill://") || output::is_address(key);
            if !is_reserved && seen.insert(key.to_owned()) {
                entries.push((Arc::clone(&served), entry));
            }
        }
    }
    entries
}

/// The server whose list has an entry.
async fn owner(link: &Arc<Link>, list: List, is_it: impl Fn(&str) -> bool) -> Option<Arc<Served>> {
    let entries = entries(link, list).await;
    let key = |entry: &Map<String, Value>| entry.get(list.key()).and_then(Value::as_str).is_some_and(&is_it);
    entries.into_iter().find(|(_, entry)| key(entry)).map(|(served, _)| served)
}

/// The server of a resource: the only one that has any, the one that lists it, or the one with a template for it.
async fn of_uri(link: &Arc<Link>, uri: &str) -> Option<Arc<Served>> {
    if uri.starts_with("skill://") || output::is_address(uri) {
        return None;
    }
    link.begin().await;
    let with: Vec<Arc<Served>> = link
        .present()
        .filter(|(_, _, connected)| connected.offers("resources"))
        .map(|(_, served, _)| Arc::clone(served))
        .collect();
    if let [one] = &with[..] {
        return Some(Arc::clone(one));
    }
    if let Some(served) = owner(link, List::Resources, |listed| listed == uri).await {
        return Some(served);
    }
    // The fixed beginning of a template; one without any would match everything.
    let begins = |template: &str| {
        let fixed = template.split('{').next().unwrap_or_default();
        !fixed.is_empty() && uri.starts_with(fixed)
    };
    owner(link, List::Templates, begins).await
}

/// The server of what is to be completed.
async fn completed(link: &Arc<Link>, reference: &Value) -> Option<Arc<Served>> {
    match (reference["name"].as_str(), reference["uri"].as_str()) {
        (Some(name), _) => owner(link, List::Prompts, |entry| entry == name).await,
        (None, Some(uri)) => match owner(link, List::Templates, |template| template == uri).await {
            Some(served) => Some(served),
            None => of_uri(link, uri).await,
        },
        (None, None) => None,
    }
}

/// The server that a request without a known owner is for: the one that `_meta` names, or the only one.
fn only(link: &Arc<Link>, params: &Value) -> Option<Arc<Served>> {
    match params["_meta"]["io.metier/server"].as_str() {
        Some(name) => link.servers.iter().find(|served| served.server.name == name).cloned(),
        None => match &link.servers[..] {
            [one] => Some(Arc::clone(one)),
            _ => None,
        },
    }
}
