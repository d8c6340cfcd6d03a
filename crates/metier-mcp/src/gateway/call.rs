//! A call of a server's tool: decided and recorded by the client's session, made without it.

use std::sync::Arc;

use metier_journal::ServerCallOutcome;
use metier_policy::DecisionCode;
use metier_session::tools::ToolSubject;
use metier_session::{PermittedCall, ServerCall, Session, SessionError};
use metier_skill::Coded as _;
use rmcp::ErrorData;
use rmcp::model::JsonObject;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::door::{answer, error_of};
use super::forward::{self, Forwarded};
use super::link::{Link, Served};
use super::tools::ServerTool;
use crate::answer::Refusal;
use crate::approval::{self, Continuation};
use crate::connection::{McpConnection, is_modern, principal};
use crate::governed::{Brought, Governed};
use crate::upstream::UpstreamError;

/// The member of `_meta` with the active skills.
const SKILLS: &str = "io.metier/skills";

/// The headers of the W3C trace context, which are members of `_meta` in MCP.
const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// How calls are counted in the metrics.
const COUNTED: &str = "server_tool";

impl McpConnection {
    /// Calls a tool of a server, if the session allows it.
    pub(super) async fn call_server(
        &self,
        link: &Arc<Link>,
        tool: &ServerTool,
        name: &str,
        params: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let called = self.admit(self.governed(link, tool, name, params, context)).await;
        let outcome = match &called {
            Ok(Ok(value)) if value["resultType"] == "input_required" => "asked",
            Ok(Ok(_)) => "ok",
            Ok(Err(_)) => "refused",
            Err(refusal) => refusal.code(),
        };
        self.library.metrics.count(COUNTED, outcome);
        let answered = called.unwrap_or_else(|refusal| {
            let server = &link.servers[tool.server].server.name;
            let text = refusal.text(&self.library.tools, &ToolSubject::default());
            let text = text + &how_to_allow(&refusal, server, tool);
            Ok(tool_error(&text, refusal.code()))
        });
        answered.map(|value| forward::translated(value, "tools/call", is_modern(context)))
    }

    async fn governed(
        &self,
        link: &Arc<Link>,
        tool: &ServerTool,
        name: &str,
        mut params: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<Value, ErrorData>, Refusal> {
        let served = &link.servers[tool.server];
        let given = params.get("arguments").and_then(Value::as_object).cloned();
        let call = approval::call_of(principal(context), name, given.as_ref());
        let brought = self.brought(call.clone(), &params)?;
        let (known, rest) = (brought.known.clone(), brought.rest.clone());
        let server_call = of_tool(served, tool, given.unwrap_or_default());
        let permit = move |session: &mut Session| Ok(session.permit_server_call(&server_call)?);
        let permitted = match self.in_session(context, brought, permit).await? {
            Governed::Asks(question) => {
                return serde_json::to_value(question)
                    .map(Ok)
                    .map_err(|error| Refusal::Broken(error.to_string()));
            }
            Governed::Done(permitted) => permitted,
        };
        prepare(&mut params, &tool.name, &permitted, context);
        let forwarded = match rest {
            Some(Continuation::Parked(key)) => forward::resume(link, served, &key, &params, context).await,
            rest => {
                continued(&mut params, rest);
                forward::forward(link, served, "tools/call", params, context).await
            }
        };
        self.record(permitted, &forwarded).await?;
        match forwarded {
            Ok(Forwarded::Waits { key, requests }) => {
                let rest = Some(Continuation::Parked(key));
                let state = approval::seal(&self.library, &call, known, None, rest)?;
                let asks = json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state });
                let result = answer(served, "tools/call", Ok(Forwarded::Replied(Ok(asks))), context);
                Ok(result)
            }
            Ok(Forwarded::Replied(Ok(mut value))) if value["resultType"] == "input_required" => {
                let state = value["requestState"].as_str().map(str::to_owned);
                let rest = Some(Continuation::Again(state));
                let state = approval::seal(&self.library, &call, known, None, rest)?;
                value["requestState"] = Value::String(state);
                Ok(answer(served, "tools/call", Ok(Forwarded::Replied(Ok(value))), context))
            }
            Ok(Forwarded::Replied(Err(error))) => Ok(Err(error_of(error))),
            Ok(Forwarded::Cancelled) => Err(Refusal::Gone),
            Err(error) => Ok(Ok(failed(served, &error))),
            forwarded => Ok(answer(served, "tools/call", forwarded, context)),
        }
    }

    /// The state that a client brings back.
    fn brought(&self, call: Vec<u8>, params: &Value) -> Result<Brought, Refusal> {
        let responses = params.get("inputResponses").and_then(|all| serde_json::from_value(all.clone()).ok());
        let state = params.get("requestState").and_then(Value::as_str);
        Brought::open(&self.library, call, state, responses.as_ref())
    }

    /// Records what came of a call, whether the client still waits or not.
    async fn record(
        &self,
        permitted: PermittedCall,
        forwarded: &Result<Forwarded, UpstreamError>,
    ) -> Result<(), Refusal> {
        let (outcome, code, bytes) = outcome(forwarded);
        let nobody_stops_it = CancellationToken::new();
        let finish = move |session: &mut Session| {
            Ok(session.finish_server_call(permitted, outcome, code.as_deref(), &bytes)?)
        };
        self.conversation.with(&nobody_stops_it, finish).await
    }
}

fn of_tool(served: &Served, tool: &ServerTool, arguments: JsonObject) -> ServerCall {
    let (server, definition) = (served.server.name.clone(), tool.definition);
    let mut call = ServerCall::new(server, tool.name.clone(), Value::Object(arguments), definition);
    call.is_changed = tool.is_changed;
    call
}

/// Sets what the server is told: its own name of the tool, the active skills, and the trace.
fn prepare(params: &mut Value, tool: &str, permitted: &PermittedCall, context: &RequestContext<RoleServer>) {
    params["name"] = Value::String(tool.to_owned());
    if !params["_meta"].is_object() {
        params["_meta"] = json!({});
    }
    let meta = &mut params["_meta"];
    // Whatever the client wrote there: this is ours to say.
    meta[SKILLS] = serde_json::to_value(permitted.context()).unwrap_or_default();
    let Some(parts) = context.extensions.get::<axum::http::request::Parts>() else { return };
    for name in TRACE {
        let value = parts.headers.get(name).and_then(|value| value.to_str().ok());
        if let (Some(value), true) = (value, meta.get(name).is_none()) {
            meta[name] = json!(value);
        }
    }
}

/// The state of the server's own for a call that continues. What the client carried for us is not for the server.
fn continued(params: &mut Value, rest: Option<Continuation>) {
    let Some(members) = params.as_object_mut() else { return };
    members.shift_remove("requestState");
    match rest {
        Some(Continuation::Again(Some(state))) => {
            members.insert("requestState".to_owned(), Value::String(state));
        }
        Some(_) => {}
        None => drop(members.shift_remove("inputResponses")),
    }
}

/// The result of a call as it is recorded.
fn outcome(forwarded: &Result<Forwarded, UpstreamError>) -> (ServerCallOutcome, Option<String>, Vec<u8>) {
    match forwarded {
        Ok(Forwarded::Replied(Ok(value))) => {
            let outcome = if value["isError"] == true {
                ServerCallOutcome::ToolFailed
            } else if value["resultType"] == "input_required" {
                ServerCallOutcome::Asks
            } else {
                ServerCallOutcome::Done
            };
            (outcome, None, value.to_string().into_bytes())
        }
        Ok(Forwarded::Replied(Err(error))) => {
            let code = error["code"].as_i64().map(|code| code.to_string());
            (ServerCallOutcome::Refused, code, error.to_string().into_bytes())
        }
        Ok(Forwarded::Waits { requests, .. }) => {
            (ServerCallOutcome::Asks, None, requests.to_string().into_bytes())
        }
        Ok(Forwarded::Cancelled) => (ServerCallOutcome::Cancelled, None, Vec::new()),
        Err(error) => (ServerCallOutcome::Lost, Some(error.code().to_owned()), Vec::new()),
    }
}

/// A tool error for a call that got no answer.
fn failed(served: &Served, error: &UpstreamError) -> Value {
    let next = error.hint().unwrap_or_else(|| {
        "It is not known whether the tool did anything. Check that before you call it again.".to_owned()
    });
    tool_error(&format!("`{}`: {error}\n{next}", served.server.name), error.code())
}

/// A result that tells the model what went wrong. Programs find the code in `_meta`.
fn tool_error(text: &str, code: &str) -> Value {
    json!({
        "content": [{ "type": "text", "text": text }],
        "isError": true,
        "_meta": { "io.metier/error": { "code": code } },
    })
}

/// How a person allows a call that needs approval where no person can be asked.
fn how_to_allow(refusal: &Refusal, server: &str, tool: &ServerTool) -> String {
    let Some(SessionError::Denied { decision }) = refusal.session() else { return String::new() };
    if decision.code != DecisionCode::NobodyToAsk {
        return String::new();
    }
    let digest = tool.is_changed.then(|| format!("digest = \"{}\"\n", tool.definition));
    format!(
        "\nThe user can allow it with this rule in the settings, and a new connection:\n[[policy.rules]]\nserver = \"{server}\"\ntool = \"{}\"\n{}tools = \"allow\"\nTell the user, and continue without it until then.",
        tool.name,
        digest.unwrap_or_default()
    )
}
