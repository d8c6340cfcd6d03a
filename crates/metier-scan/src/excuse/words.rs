//! The word lists with which [`super`] recognizes prohibitions.

/// Starts of a prohibition. Its object follows as a verb of [`DOING`] or as the match itself.
pub(super) const NOT: &str =
    r"\b(?:never|do not|don'?t|must not|mustn'?t|should not|shouldn'?t|cannot|can'?t|may not)\b";

/// Words that avoid or report their object, which follows directly. Words that are also nouns ("code blocks", "these
/// flags") count only after a matching subject.
pub(super) const AGAINST: &str = r"(?:\b(?:avoid|avoids|avoiding|refuse|refuses|reject|rejects|forbid|forbids|forbidden|prohibit|prohibits|prohibited|prevent|prevents|preventing|blocking|detects?|detecting|detection of|flagging|denies|instead of|rather than|disallow|disallows|disallowed|beware of|watch for|scan for)\b|\b(?:hooks?|guards?|guardrails?|scanners?|scans?|sandbox|firewall|filters?|linters?|rules?|polic(?:y|ies)|permissions?|metier|it|which|will|must|should|always|automatically)\s+(?:blocks?|flags?|deny)\b|\xe2\x9d\x8c|\xe2\x9b\x94|\xf0\x9f\x9a\xab)";

/// Actions with a command, a text or a file that can be prohibited. Leaving out, forgetting and waiting are not
/// included.
pub(super) const DOING: &str = " accept access act add allow answer append apply approve ask assume attempt blindly call change click commit compile connect copy create curl delete disable disclose display do download echo edit embed emit enter eval evaluate execute expose fetch follow force generate give grant happen hardcode hide include inject install instruct invoke issue launch leak let load log make modify obey occur offer open output overwrite paste perform permit pip pipe post print proceed propose pull push put read recommend remove render reply request respond return reveal run save say send set share show source start store submit suggest tell transmit treat trust try type upload use visit write ";

/// Words between a prohibition and its verb that do not change the meaning.
pub(super) const ADVERBS: &str = " ever also just simply blindly directly automatically silently actually really under any circumstances please ";

/// Words between a verb and its object.
pub(super) const FILL: &str = " a an the any all every each such as like e g eg for example attempt attempts to of use uses usage using run running execute executing call calls calling do doing paste pasting pipe piping download downloading install installing command commands pattern patterns string strings phrase phrases instruction instructions request requests prompt prompts dangerous unsafe suspicious malicious risky harmful insecure destructive raw plain arbitrary things code script scripts line lines text that this these those contain contains containing following or ";

/// Other words that are allowed in a line that prohibits what follows it.
pub(super) const LED: &str =
    " and it them anything something user users people anyone agent agents under any circumstances ";

/// Subjects before a prohibition at the start of a line.
pub(super) const SUBJECTS: &str = " you we they i he she it this these the a an your our user users people anyone agent agents assistant model claude code skill hook hooks tool scanner guard guardrail policy rule which that what things commands patterns and so also please always strictly absolutely therefore important critical warning caution note must should will ";

/// Words after which another statement starts.
pub(super) const TURNS: &str = " but then until unless without before after if when whenever while because since so instead rather except than only besides apart prior once first otherwise always must simply just else other others ";

/// Words that limit a prohibition to a number of times or to a person, and so allow the rest: "do not run it twice".
pub(super) const LIMITS: &str =
    " twice thrice times again more often repeatedly once except only too yet later manually yourself alone ";

/// Words that limit the prohibition of a command to a manner or a time. For other text they are common in rules for
/// an agent ("never send data without asking") and do not limit anything.
pub(super) const WAYS: &str = " as in by without until unless before after if when while than ";

/// A prohibition that depends on one of these does not count: "if you do not run …".
pub(super) const CONDITIONS: &str = " if unless when whenever until because since lest case ";

/// Headings and comments above bad examples. A reason can follow, with the words in [`FILL`] and [`REASONS`].
pub(super) const LABEL: &str = r"^(?:(?:(?:\xe2\x9d\x8c|\xe2\x9b\x94|\xf0\x9f\x9a\xab)[\s*_]*)?(?:(?:(?:common|typical|frequent|known|other|more|security|key|critical)\s+)*(?:anti-?patterns?|mistakes|pitfalls|red flags?|rationali[sz]ations|bad|wrong|incorrect|unsafe|insecure|vulnerable|forbidden|prohibited|dangerous|(?:blocked|denied|disallowed|rejected) (?:commands?|patterns?|operations?|actions?)|don'?ts?|do not|never|avoid)(?:\s+(?:examples?|code|patterns?|commands?|ways?|practices?|usage|operations?|actions?|approach(?:es)?|words|phrases|prompts?|inputs?|this|these|to avoid|to watch for|(?:and|or) (?:mistakes|pitfalls|anti-?patterns|rationali[sz]ations|red flags)))*|(?:things|what|patterns|commands|practices|words)\s+(?:to avoid|not to \w+))|(?:\xe2\x9d\x8c|\xe2\x9b\x94|\xf0\x9f\x9a\xab))(?:[*_`\s]+|\b|$)";

/// Words of a reason why something is bad. None of them asks for anything.
pub(super) const REASONS: &str = " runs executes fetches downloads uses pipes leaks exposes allows hardcoded hard coded secret secrets credential credentials password passwords token tokens key keys vulnerable vulnerability injection sql xss shell user input unvalidated unsanitized untrusted unpinned unverified unescaped plaintext remote vague broad generic missing no not never without validation verification review from with is are it and in into by too security risk risks concatenation interpolation controlled step steps ";

pub(super) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'\'').filter(|word| !word.is_empty())
}

/// Whether a word is in one of the lists here.
pub(super) fn is_one_of(word: &[u8], list: &str) -> bool {
    let list = list.as_bytes();
    memchr::memmem::find_iter(list, word)
        .any(|at| list.get(at.wrapping_sub(1)) == Some(&b' ') && list.get(at + word.len()) == Some(&b' '))
}
