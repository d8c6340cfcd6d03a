//! Every name that leaves for a collector. `docs/telemetry.md` explains them, and a test keeps the two together.

/// Declares names, and a list of all of them.
macro_rules! names {
    ($($name:ident = $text:literal;)*) => {
        $(pub(super) const $name: &str = $text;)*
        #[cfg(test)]
        const ALL: &[&str] = &[$($text),*];
    };
}

names! {
    // What spans are called, or begin with.
    INVOKE_AGENT = "invoke_agent";
    EXECUTE_TOOL = "execute_tool";
    ACTIVATE_SKILL = "activate_skill";
    READ_RESOURCE = "read_resource";
    CHECK_TOOL_CALL = "check_tool_call";
    EVALUATE = "evaluate";

    // Who sends.
    SERVICE_NAME = "service.name";
    SERVICE_INSTANCE = "service.instance.id";

    // From the semantic conventions.
    OPERATION = "gen_ai.operation.name";
    CONVERSATION = "gen_ai.conversation.id";
    AGENT = "gen_ai.agent.name";
    TOOL_NAME = "gen_ai.tool.name";
    TOOL_TYPE = "gen_ai.tool.type";
    TOOL_CALL_ID = "gen_ai.tool.call.id";
    ERROR_TYPE = "error.type";
    AGENT_VERSION = "gen_ai.agent.version";
    RESPONSE_MODEL = "gen_ai.response.model";
    INPUT_TOKENS = "gen_ai.usage.input_tokens";
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens";

    // Of every record.
    EVENT_KIND = "metier.event.kind";
    RECORD_ID = "metier.record.id";
    RECORD_SEQUENCE = "metier.record.sequence";
    TASK_ID = "metier.task.id";

    // Of a session.
    SESSION_ENDED = "metier.session.ended";
    SKILLS_DISCOVERED = "metier.skills.discovered";

    // Of skills.
    SKILL_NAME = "metier.skill.name";
    SKILL_ID = "metier.skill.id";
    SKILL_DIGEST = "metier.skill.digest";
    SKILL_TIER = "metier.skill.tier";
    SKILL_TRIGGER = "metier.skill.trigger";
    BODY_DIGEST = "metier.body.digest";
    TOKENS = "metier.tokens";
    SECTION = "metier.section";
    WARNING_CODE = "metier.warning.code";
    SKILLS_ADDED = "metier.skills.added";
    SKILLS_CHANGED = "metier.skills.changed";
    SKILLS_REMOVED = "metier.skills.removed";
    SKILLS_INSTALLED = "metier.skills.installed";
    SKILLS_MOUNTED = "metier.skills.mounted";
    SKILLS_LINKED = "metier.skills.linked";
    SKILLS_UNLINKED = "metier.skills.unlinked";
    TRUSTED = "metier.trusted";
    SKILLS_ACTIVE = "metier.skills.active";

    // Of evaluations.
    EVALUATION_COST = "metier.evaluation.cost_microdollars";
    EVALUATION_TURNS = "metier.evaluation.turns";
    EVALUATION_STOP = "metier.evaluation.stop";

    // Of resources and scripts.
    RESOURCE_PATH = "metier.resource.path";
    RESOURCE_DIGEST = "metier.resource.digest";
    RESOURCE_BYTES = "metier.resource.bytes";
    SCRIPT_PATH = "metier.script.path";
    SCRIPT_DIGEST = "metier.script.digest";
    SCRIPT_ARGUMENTS = "metier.script.arguments.digest";
    SCRIPT_INPUT = "metier.script.input.digest";
    SCRIPT_STDOUT = "metier.script.stdout.digest";
    SCRIPT_STDERR = "metier.script.stderr.digest";
    SCRIPT_EXIT_CODE = "metier.script.exit_code";
    SCRIPT_OUTCOME = "metier.script.outcome";
    PROTECTIONS = "metier.sandbox.protections";

    // Of decisions.
    TOOL_CALL_ARGUMENTS = "metier.tool_call.arguments.digest";
    TOOL_CALL_ANSWER = "metier.tool_call.answer.digest";
    TOOL_CALL_OUTCOME = "metier.tool_call.outcome";
    TOOL_CALL_DECISION = "metier.tool_call.decision";
    TOOL_CALL_CODE = "metier.tool_call.code";
    APPROVAL_ACCESS = "metier.approval.access";
    APPROVAL_ANSWER = "metier.approval.answer";
    APPROVAL_LIFETIME = "metier.approval.lifetime";
    MUTATION_REQUEST = "metier.mutation.request";
    MUTATION_TARGET = "metier.mutation.target";
    MUTATION_PAYLOAD = "metier.mutation.payload.digest";
    MUTATION_OUTCOME = "metier.mutation.outcome";
    MUTATION_CODE = "metier.mutation.code";

    // Metrics, and what only they have.
    ACTIVATIONS = "metier.skill.activations";
    ACTIVATION_FAILURES = "metier.skill.activation.failures";
    READS = "metier.skill.reads";
    SKILL_TOKENS = "metier.skill.tokens";
    SCRIPT_RUNS = "metier.script.runs";
    SCRIPT_DURATION = "metier.script.duration";
    TOOL_CALLS = "metier.tool_calls";
    EVALUATIONS = "metier.evaluations";
    EVALUATION_TOKENS = "metier.evaluation.tokens";
    TOTAL_COST = "metier.evaluation.cost";
    TOKEN_TYPE = "gen_ai.token.type";
    APPROVALS = "metier.approvals";
    DISCLOSURE = "metier.disclosure";
    OVERFLOW = "otel.metric.overflow";
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../../docs/telemetry.md");

    #[test]
    fn every_name_is_documented() {
        for name in ALL {
            let alone = format!("`{name}`");
            let with_more = format!("`{name} ");
            assert!(DOCUMENT.contains(&alone) || DOCUMENT.contains(&with_more), "{name} is not documented");
        }
    }

    #[test]
    fn every_documented_name_is_one_of_ours() {
        let quoted = DOCUMENT.split('`').skip(1).step_by(2);
        let prefixes = ["metier.", "gen_ai.", "otel.", "service.", "error."];
        let names: Vec<&str> =
            quoted.filter(|text| prefixes.iter().any(|prefix| text.starts_with(prefix))).collect();
        assert!(names.len() > 50, "only {} names found", names.len());
        for name in names {
            assert!(ALL.contains(&name), "{name} is documented and not there");
        }
    }

    #[test]
    fn no_name_is_taken_twice() {
        let mut sorted = ALL.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), ALL.len());
    }
}
