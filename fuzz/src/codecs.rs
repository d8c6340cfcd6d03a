//! What agents and model servers send: protocols of lines, and streams of events.

use metier_harness::{
    AcpOptions, AcpProtocol, AgentEvent, AgentLine, AgentMessage, Answered, ClaudeProtocol, CodexOptions,
    CodexProtocol, LineSplitter, ModelReply, OpenAiApi, OpenAiDecoder, Outbox, PermissionAnswer, Protocol,
    ReplyProblem, ServerEvent, SseSplitter, ToolAnswered,
};
use metier_home::Agent;
use serde_json::Value;

/// The longest line, and the largest event, in these checks; what is longer is cut.
const LINE: usize = 4 << 10;

/// Reads the bytes as the output of Claude Code, answers every request, and checks the properties: the same messages however the
/// bytes arrive, and one line of JSON for each answer.
pub fn check_claude(bytes: &[u8]) -> Result<(), String> {
    check_protocol(bytes, || ClaudeProtocol::new(vec![serde_json::json!({ "name": "echo" })]))
}

/// The same for Codex.
pub fn check_codex(bytes: &[u8]) -> Result<(), String> {
    check_protocol(bytes, || CodexProtocol::new(CodexOptions::new("/work", "/home")))
}

/// The same for agents that speak the Agent Client Protocol.
pub fn check_acp(bytes: &[u8]) -> Result<(), String> {
    let protocol = |agent| {
        let mut options = AcpOptions::new(agent, "/work");
        options.tools = vec!["echo".to_owned()];
        AcpProtocol::new(options)
    };
    let mut agents =
        [Agent::OpenCode, Agent::Gemini, Agent::Goose, Agent::Copilot].into_iter().filter_map(protocol);
    agents.try_for_each(|protocol| check_protocol(bytes, || protocol.clone()))
}

/// Reads the bytes as a reply of a model server in both of `OpenAI`'s APIs, and checks the properties: the same events and the same
/// reply however the bytes arrive, and no event larger than the limit.
pub fn check_openai(bytes: &[u8]) -> Result<(), String> {
    let whole = events(bytes.chunks(bytes.len().max(1)));
    for (event, length) in whole.iter().filter_map(|event| match event {
        // A byte that is not UTF-8 becomes three.
        ServerEvent::Data(data) => Some((event, data.chars().count())),
        ServerEvent::Cut { head, .. } => Some((event, head.chars().count())),
        _ => None,
    }) {
        if length > LINE {
            return Err(format!("an event is larger than the limit: {event:?}"));
        }
    }
    if events(bytes.chunks(7)) != whole {
        return Err("the events depend on how the bytes arrive".to_owned());
    }
    for api in OpenAiApi::ALL {
        let whole = reply(api, bytes.chunks(bytes.len().max(1)));
        if reply(api, bytes.chunks(7)) != whole {
            return Err(format!("the reply depends on how the bytes arrive ({})", api.name()));
        }
        let mut decoder = OpenAiDecoder::new(api);
        decoder.feed_whole(bytes);
        drop(decoder.finish());
    }
    Ok(())
}

fn events<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Vec<ServerEvent> {
    let mut splitter = SseSplitter::with_limit(LINE);
    let mut events: Vec<ServerEvent> = parts.flat_map(|part| splitter.feed(part)).collect();
    events.extend(splitter.finish());
    events
}

fn reply<'a>(
    api: OpenAiApi,
    parts: impl Iterator<Item = &'a [u8]>,
) -> (Vec<AgentEvent>, Result<ModelReply, ReplyProblem>) {
    let mut decoder = OpenAiDecoder::new(api);
    let mut events: Vec<AgentEvent> = parts.flat_map(|part| decoder.feed(part)).collect();
    let (rest, reply) = decoder.finish();
    events.extend(rest);
    (events, reply)
}

fn check_protocol<P: Protocol>(bytes: &[u8], begin: impl Fn() -> P) -> Result<(), String> {
    let whole = conversation(begin(), &[bytes])?;
    let (first, second) = bytes.split_at(bytes.len() / 3);
    if conversation(begin(), &[first, second])? == whole {
        Ok(())
    } else {
        Err("the messages depend on how the bytes arrive".to_owned())
    }
}

fn conversation(mut protocol: impl Protocol, parts: &[&[u8]]) -> Result<Vec<AgentMessage>, String> {
    let mut lines = LineSplitter::with_limit(LINE);
    let mut found: Vec<AgentLine> = parts.iter().flat_map(|part| lines.feed(part)).collect();
    found.extend(lines.finish());
    let mut out = Outbox::default();
    protocol.begin(&mut out);
    let (mut all, mut is_prompted) = (Vec::new(), false);
    for line in &found {
        if protocol.is_ready() && !std::mem::replace(&mut is_prompted, true) {
            protocol.prompt("Go.", &mut out);
            out.take();
        }
        if let AgentLine::Whole(text) = line
            && text.len() > LINE
            && !text.contains('\u{fffd}')
        {
            return Err("a line is longer than the limit".to_owned());
        }
        let messages = protocol.receive(line, &mut out);
        if messages.is_empty() && out.take().is_empty() {
            return Err(format!("a line was lost: {line:?}"));
        }
        for message in &messages {
            out.take();
            let answers = match message {
                AgentMessage::Permission(request) => {
                    let answer = PermissionAnswer::Allow;
                    protocol.answer(&Answered::Permission { id: &request.id, answer: &answer }, &mut out);
                    1
                }
                AgentMessage::ToolCall(call) => {
                    let result = ToolAnswered { text: "done".to_owned(), is_error: false };
                    protocol.answer(&Answered::Tool { id: &call.id, result: &result }, &mut out);
                    1
                }
                _ => 0,
            };
            check_answers(&out.take(), answers)?;
        }
        all.extend(messages);
    }
    Ok(all)
}

fn check_answers(lines: &[Vec<u8>], wanted: usize) -> Result<(), String> {
    let is_one_line = |line: &Vec<u8>| {
        line.iter().position(|byte| *byte == b'\n') == Some(line.len() - 1)
            && serde_json::from_slice::<Value>(line).is_ok_and(|frame| frame.is_object())
    };
    if lines.len() == wanted && lines.iter().all(is_one_line) {
        Ok(())
    } else {
        Err(format!("{wanted} answers were due, and {} lines were written", lines.len()))
    }
}
