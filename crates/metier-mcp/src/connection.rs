//! One client connection: its requests and the answers.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use metier_catalog::Entry;
use metier_session::tools::{self, ResourceCall, SHOWN_BYTES, SkillToolKind, ToolSubject};
use metier_session::{ResourcePart, Session, SessionError, SkillToolAnswer, SkillToolError};
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, Reference, ServerCapabilities,
    ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::answer::{Refusal, into_result};
use crate::approval;
use crate::conversation::Conversation;
use crate::gateway::Link;
use crate::governed::{Brought, Governed};
use crate::http::{Holder, Principal};
use crate::library::Library;
use crate::output::Outputs;
use crate::place::Root;
use crate::view::View;
use crate::{extension, output, prompts, resources, uri};

/// The maximum number of concurrent calls of one client.
const CALLS: usize = 32;

/// The maximum number of completions, as defined by the protocol.
const COMPLETIONS: usize = 100;

/// The maximum length of a client's name that is kept.
const NAME: usize = 64;

/// The number of connections so far.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// One client's connection to a library.
pub struct McpConnection {
    pub(crate) library: Arc<Library>,
    pub(crate) conversation: Arc<Conversation>,
    /// A number that is unique among all connections, including closed ones.
    number: u64,
    /// How many more calls it may start.
    open: Semaphore,
    is_told: AtomicBool,
    /// The client's working directory, once it has been asked.
    pub(crate) root: Mutex<Root>,
    /// Changes since the client connected.
    changes: watch::Receiver<u64>,
    /// The client's own connections to the servers behind the gateway, if it has a session.
    pub(crate) link: OnceLock<Arc<Link>>,
    /// Cancels all work for this client.
    closed: CancellationToken,
    _ending: DropGuard,
}

impl McpConnection {
    /// Creates a connection for a new client.
    pub fn new(library: Arc<Library>) -> Self {
        let closed = CancellationToken::new();
        let conversation = library.converse();
        let (open, is_told, changes) = (Semaphore::new(CALLS), AtomicBool::new(false), library.changes());
        let root = Mutex::default();
        let ending = closed.clone().drop_guard();
        let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        let link = OnceLock::new();
        Self { library, conversation, number, open, is_told, root, changes, link, closed, _ending: ending }
    }

    async fn call(
        &self,
        kind: SkillToolKind,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Governed<SkillToolAnswer>, Refusal> {
        let names = self.library.options.tool_names;
        let tool = kind.name(names);
        let CallToolRequestParams { arguments, input_responses, request_state, .. } = request;
        let call = approval::call_of(principal(context), tool, arguments.as_ref());
        let (state, responses) = (request_state.as_deref(), input_responses.as_ref());
        let brought = Brought::open(&self.library, call, state, responses)?;
        let arguments = Value::Object(arguments.unwrap_or_default());
        match kind {
            SkillToolKind::List => {
                let view = self.library.view().await.map_err(Refusal::Broken)?;
                let options = view.tools();
                let listed = self.library.blocking(move || tools::list(&view.catalog, arguments, &options));
                let listed = listed.await.map_err(|error| Refusal::Broken(error.to_string()))?;
                let listed = listed?;
                if is_stateless(context) {
                    return Ok(Governed::Done(listed));
                }
                let record = move |session: &mut Session| {
                    session.disclosed_by(&listed)?;
                    Ok(listed.clone())
                };
                self.in_session(context, brought, record).await
            }
            SkillToolKind::Load => self.dispatch(tool, arguments, brought, context).await,
            SkillToolKind::Read => {
                let call = tools::resource_call(arguments.clone(), names)?;
                if !output::is_address(&call.path) {
                    return self.dispatch(tool, arguments, brought, context).await;
                }
                let (library, client) = (Arc::clone(&self.library), self.reader(context));
                let read = self.library.blocking(move || read_output(tool, &call, &library.outputs, client));
                let read = read.await.map_err(|error| Refusal::Broken(error.to_string()))?;
                read.map(Governed::Done)
            }
            SkillToolKind::Run => self.run(arguments, brought, context).await,
        }
    }

    /// Runs work in the session.
    async fn dispatch(
        &self,
        tool: &'static str,
        arguments: Value,
        brought: Brought,
        context: &RequestContext<RoleServer>,
    ) -> Result<Governed<SkillToolAnswer>, Refusal> {
        let work = move |session: &mut Session| Ok(session.dispatch(tool, arguments.clone())?);
        self.in_session(context, brought, work).await
    }

    /// The owner of script output for this client. Over HTTP, a client of the stateless revision has one connection for
    /// each call.
    pub(crate) fn reader(&self, context: &RequestContext<RoleServer>) -> output::Client {
        match principal(context) {
            number @ 1.. => output::Client::Token(number),
            0 if is_stateless(context) => output::Client::Unknown,
            0 => output::Client::Session(self.number),
        }
    }

    /// Changes of the skills, and of the servers behind the gateway.
    fn all_changes(&self) -> Changes {
        let own = self.link.get().map(|link| link.changes());
        let shared = || self.library.gateway.as_ref().map(|gateway| gateway.changes());
        // What changed before is not news for this client.
        let of_servers = own.or_else(shared);
        Changes { skills: self.changes.clone(), of_servers }
    }

    /// The current view of the catalog.
    async fn view(&self) -> Result<Arc<View>, ErrorData> {
        self.library.view().await.map_err(|why| ErrorData::internal_error(why, None))
    }

    /// A refusal as a protocol error, for methods whose results no model reads.
    fn as_error(&self, refusal: &Refusal, subject: &ToolSubject) -> ErrorData {
        let data = serde_json::json!({ "code": refusal.code() });
        let code = if refusal.is_ours() { ErrorCode::INTERNAL_ERROR } else { ErrorCode::INVALID_PARAMS };
        ErrorData::new(code, refusal.text(&self.library.tools, subject), Some(data))
    }

    /// A request of the Skills extension, or one that `rmcp` cannot read.
    pub(crate) async fn own_request(
        &self,
        request: CustomRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.clone();
        let unknown = || ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.clone(), None);
        let is_malformed =
            ["tools/call", "prompts/get", "resources/read", "completion/complete"].contains(&method.as_str());
        if is_malformed {
            // Requests with valid parameters were handled above.
            return Err(ErrorData::invalid_params(format!("invalid parameters for {method}"), None));
        }
        if !["skills/list", "skills/get", "resources/directory/read"].contains(&method.as_str()) {
            return Err(unknown());
        }
        let given: CustomParams = match request.params_as() {
            Ok(given) => given.unwrap_or_default(),
            Err(error) => return Err(ErrorData::invalid_params(error.to_string(), None)),
        };
        let view = self.view().await?;
        let limits = view.stock.session.rules.limits;
        let is_list = method == "skills/list";
        let is_directory = method == "resources/directory/read";
        let work = self.library.blocking(move || {
            let cursor = given.cursor.as_deref();
            if is_list {
                return extension::list(&view, &limits, cursor);
            }
            let missing = || ErrorData::invalid_params("`uri` is missing", None);
            let uri = given.uri.as_deref().ok_or_else(missing)?;
            if is_directory {
                extension::directory(&view, &limits, uri, cursor)
            } else {
                extension::get(&view, &limits, uri)
            }
        });
        let result = work.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))??;
        Ok(CustomResult::new(extension::complete(result, is_modern(context))))
    }

    /// Reserves one of this client's concurrent calls.
    pub(crate) async fn admit<T>(
        &self,
        work: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let Ok(_one) = self.open.try_acquire() else {
            let words =
                format!("this client already has {CALLS} calls in progress; wait until one of them finishes");
            return Err(Refusal::Broken(words));
        };
        let _under_way = self.library.turns.begin();
        work.await
    }
}

/// Changes that a client is told about.
struct Changes {
    skills: watch::Receiver<u64>,
    of_servers: Option<watch::Receiver<u64>>,
}

impl Changes {
    async fn changed(&mut self) -> Result<(), watch::error::RecvError> {
        match &mut self.of_servers {
            Some(of_servers) => tokio::select! {
                changed = self.skills.changed() => changed,
                changed = of_servers.changed() => changed,
            },
            None => self.skills.changed().await,
        }
    }
}

/// A part of a script's stored output.
fn read_output(
    tool: &'static str,
    call: &ResourceCall,
    outputs: &Outputs,
    client: output::Client,
) -> Result<SkillToolAnswer, Refusal> {
    let wrong = |reason: &str| SkillToolError::Arguments { tool, reason: reason.to_owned() };
    let most = SHOWN_BYTES as u64;
    let (offset, length) = match call.part {
        None => (0, most),
        Some(ResourcePart::Bytes { offset, length }) => (offset, length.unwrap_or(most).min(most)),
        Some(_) => {
            return Err(wrong("script output is read by bytes; use `offset` and `length` in `range`").into());
        }
    };
    let piece = outputs.read(client, &call.path, offset, length);
    let piece = piece.map_err(|error| Refusal::Broken(format!("cannot read the output: {error}")))?;
    let piece = piece.ok_or_else(|| wrong("this output is no longer stored; run the script again"))?;
    Ok(tools::output_answer(&piece.bytes, piece.offset, piece.total))
}

/// Who calls: one of several clients over HTTP, or the only client otherwise.
pub(crate) fn principal(context: &RequestContext<RoleServer>) -> usize {
    let parts = context.extensions.get::<axum::http::request::Parts>();
    parts.and_then(|parts| parts.extensions.get::<Principal>()).map_or(0, |principal| principal.0)
}

/// Who calls over HTTP; `None` over standard input.
pub(crate) fn holder(context: &RequestContext<RoleServer>) -> Option<String> {
    let parts = context.extensions.get::<axum::http::request::Parts>();
    parts.and_then(|parts| parts.extensions.get::<Holder>()).map(|holder| holder.0.clone())
}

/// The client's own name, in a form that can be displayed and recorded.
pub(crate) fn client_name(context: &RequestContext<RoleServer>) -> Option<String> {
    let name: String = context.client_info()?.name.chars().take(NAME).collect();
    let name: String = name.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Whether each call of the client is a connection and a session of its own.
pub(crate) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.extensions.get::<axum::http::request::Parts>().is_some() && is_modern(context)
}

pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

#[derive(Debug, Default, Deserialize)]
struct CustomParams {
    uri: Option<String>,
    cursor: Option<String>,
}

impl ServerHandler for McpConnection {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_completions()
            .enable_extensions_with(extension::capability())
            .build();
        let mut info = ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("metier", env!("CARGO_PKG_VERSION")));
        info.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        info.instructions.clone_from(&self.library.shown().instructions);
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerConfig, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut info = self.negotiate_initialize(&request)?;
        if let Some(gateway) = &self.library.gateway {
            let link = self.greeted(gateway, &request, &context).await;
            link.merge(&mut info.capabilities, &mut info.instructions);
        }
        Ok(info)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        if let Some(gateway) = &self.library.gateway {
            let link = self.link_of(gateway, &context);
            link.begin().await;
            link.merge(&mut info.capabilities, &mut info.instructions);
        }
        let versions = ServerHandler::supported_protocol_versions(self).into_owned();
        Ok(DiscoverResult::from_server_info(versions, info))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.library.shown().tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let names = self.library.options.tool_names;
        let kind =
            SkillToolKind::find(&request.name, names).filter(|_| !self.library.shown().tools.is_empty());
        let unknown = || ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None);
        let kind = kind.ok_or_else(unknown)?;
        let arguments = request.arguments.clone().map_or(Value::Null, Value::Object);
        let subject = ToolSubject::of(&arguments);
        let called = self.admit(self.call(kind, request, &context)).await;
        let outcome = match &called {
            Ok(Governed::Done(_)) => "ok",
            Ok(Governed::Asks(_)) => "asked",
            Err(refusal) => refusal.code(),
        };
        self.library.metrics.count(kind.name(names), outcome);
        Ok(match called {
            Ok(Governed::Done(answer)) => into_result(answer).into(),
            Ok(Governed::Asks(question)) => question.into(),
            Err(refusal) => {
                let text = refusal.text(&self.library.tools, &subject);
                CallToolResult::error(vec![ContentBlock::text(text)]).into()
            }
        })
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let (view, page) = (self.view().await?, self.library.options.page);
        let limits = view.stock.session.rules.limits;
        let listed = self.library.blocking(move || resources::list(&view, &limits, page, cursor.as_deref()));
        listed.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        if output::is_address(&uri) {
            let (library, client, at) = (Arc::clone(&self.library), self.reader(&context), uri.clone());
            let read = move || resources::read_output(&library.outputs, client, &at);
            let read = self.library.blocking(read).await;
            return read.map_err(|error| ErrorData::internal_error(error.to_string(), None))?.map(Into::into);
        }
        let view = self.view().await?;
        let found = uri::parse(&uri).filter(|(name, path)| !path.is_empty() && view.skill(name).is_some());
        let (skill, path) = found.ok_or_else(|| resources::not_found(&uri))?;
        let (skill, at) = (skill.to_owned(), uri.clone());
        let call = approval::call_of(principal(&context), &uri, None);
        let (state, responses) = (request.request_state.as_deref(), request.input_responses.as_ref());
        let brought = Brought::open(&self.library, call, state, responses);
        let subject = ToolSubject::skill(&skill);
        let read = move |session: &mut Session| resources::read(session, &skill, &path, &at);
        match self.admit(async { self.in_session(&context, brought?, read).await }).await {
            Ok(Governed::Done(result)) => Ok(result.into()),
            Ok(Governed::Asks(question)) => Ok(question.into()),
            Err(refusal) if matches!(refusal.session(), Some(SessionError::Path { .. })) => {
                Err(resources::not_found(&uri))
            }
            Err(refusal) => Err(self.as_error(&refusal, &subject)),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        prompts::list(&*self.view().await?, self.library.options.page, cursor.as_deref())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = request.name.clone();
        if !prompts::is_there(&*self.view().await?, &name) {
            return Err(ErrorData::invalid_params(format!("unknown prompt `{name}`"), None));
        }
        let wanted = request.arguments.as_ref().and_then(|all| all.get(prompts::ARGUMENT));
        let wanted = wanted.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let call = approval::call_of(principal(&context), &name, request.arguments.as_ref());
        let (state, responses) = (request.request_state.as_deref(), request.input_responses.as_ref());
        let brought = Brought::open(&self.library, call, state, responses);
        let subject = ToolSubject::skill(&name);
        let get = move |session: &mut Session| prompts::get(session, &name, wanted.as_deref());
        match self.admit(async { self.in_session(&context, brought?, get).await }).await {
            Ok(Governed::Done(result)) => Ok(result.into()),
            Ok(Governed::Asks(question)) => Ok(question.into()),
            Err(refusal) => Err(self.as_error(&refusal, &subject)),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let is_skill = matches!(request.r#ref, Reference::Resource(_)) && request.argument.name == "skill";
        let view = self.view().await?;
        let names =
            view.skills.iter().map(Entry::name).filter(|name| name.starts_with(&request.argument.value));
        let names: Vec<String> = names.filter(|_| is_skill).map(str::to_owned).collect();
        let total = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let has_more = names.len() > COMPLETIONS;
        let shown = names.into_iter().take(COMPLETIONS).collect();
        let completion = CompletionInfo::with_pagination(shown, Some(total), has_more);
        let completion = completion.map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(completion))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if let Some(gateway) = self.library.gateway.clone() {
            return Box::pin(self.route(&gateway, request, context)).await.map(CustomResult::new);
        }
        self.own_request(request, &context).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.all_changes();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    let sink = context.sink();
                    // Notifications that the client did not subscribe to are not sent; a closed connection is noticed
                    // above.
                    let _ = sink.notify_tool_list_changed().await;
                    let _ = sink.notify_prompt_list_changed().await;
                    let _ = sink.notify_resource_list_changed().await;
                }
            }
        }
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        if let Some(link) = self.link.get() {
            link.roots_changed();
        }
        *self.root.lock().await = Root::Unknown;
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A client that subscribes twice is notified once.
        if self.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let (mut changes, closed, peer) = (self.all_changes(), self.closed.clone(), context.peer);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = closed.cancelled() => return,
                    changed = changes.changed() => {
                        if changed.is_err() || peer.notify_tool_list_changed().await.is_err() {
                            return;
                        }
                        let _ = peer.notify_prompt_list_changed().await;
                        let _ = peer.notify_resource_list_changed().await;
                    }
                }
            }
        });
    }
}

impl std::fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}
