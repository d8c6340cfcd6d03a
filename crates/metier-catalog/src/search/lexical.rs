//! Words to skills: an inverted index on disk, scored by how rare and how prominent the words are.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tantivy::fastfield::AliveBitSet;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings as _, TermInfo};
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::{FAST, INDEXED};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};
use tantivy::{
    DocSet as _, Index, IndexWriter, InvertedIndexReader, Searcher, SegmentReader, TERMINATED,
    TantivyDocument, Term,
};

use crate::search::question::Question;
use crate::search::text::SkillText;

/// What tantivy says went wrong.
pub(crate) type Result<T> = std::result::Result<T, tantivy::TantivyError>;

/// Memory for each of the two threads that write.
const WRITER_BYTES: usize = 200 << 20;
const WRITER_THREADS: usize = 2;

/// So few documents make one part, in less memory: tantivy prepares tables in proportion to it.
const FEW_DOCUMENTS: usize = 5_000;
const FEW_BYTES: usize = 16 << 20;

/// Words one letter away, and words that begin alike, that are looked up.
const NEAR_MAX: usize = 3;
const BEGINNING_MAX: usize = 5;
/// Words that are looked at to find the commonest of those that begin alike.
const BEGINNING_SEEN: usize = 200;

/// What a word is worth by where it stands, and what repetition and length take from it (as BM25F has it).
const NAME: f32 = 3.0;
const DESCRIPTION: f32 = 1.0;
const REST: f32 = 0.3;
const DAMPING: f32 = 0.8;
const LENGTH: f32 = 0.75;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    key: Field,
    /// Stems by where they stand, with what they are worth there.
    stems: [(Field, f32); 3],
    /// Words of name and description as they are written.
    exact: Field,
}

impl Fields {
    fn schema() -> (Schema, Self) {
        let mut schema = Schema::builder();
        let key = schema.add_u64_field("key", FAST | INDEXED);
        let text = |option: IndexRecordOption| {
            let indexing = TextFieldIndexing::default().set_tokenizer("blanks").set_index_option(option);
            TextOptions::default().set_indexing_options(indexing)
        };
        let mut stems = |name: &str| schema.add_text_field(name, text(IndexRecordOption::WithFreqs));
        let stems = [(stems("name"), NAME), (stems("description"), DESCRIPTION), (stems("rest"), REST)];
        let exact = schema.add_text_field("exact", text(IndexRecordOption::Basic));
        (schema.build(), Self { key, stems, exact })
    }
}

/// The index, on disk or in memory.
pub(crate) struct Lexical {
    index: Index,
    fields: Fields,
}

/// The index, open for questions.
pub(crate) struct Reader {
    searcher: Searcher,
    segments: Vec<Segment>,
    exact: Field,
}

/// One part of the index, with what every question needs of it.
struct Segment {
    documents: usize,
    /// Which documents are not dead; `None` where all are alive.
    alive: Option<AliveBitSet>,
    fields: [FieldReader; 3],
}

struct FieldReader {
    field: Field,
    index: Arc<InvertedIndexReader>,
    lengths: FieldNormReader,
    weight: f32,
    /// What a text of one word more takes from a word's worth, beside the part that is the same for all.
    per_length: f32,
}

/// Where a stem is in the index.
pub(crate) struct Found {
    /// For each segment and field.
    places: Vec<[Option<TermInfo>; 3]>,
    /// How many skills have it, at least.
    pub(crate) count: u32,
    /// How much it tells: the fewer skills have it, the more.
    pub(crate) rarity: f32,
}

impl Found {
    /// How many postings there are to read.
    pub(crate) fn postings(&self) -> usize {
        self.places.iter().flatten().flatten().map(|info| info.doc_freq as usize).sum()
    }
}

impl Lexical {
    /// The index in a directory.
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let index = Index::open_in_dir(directory)?;
        let (schema, fields) = Fields::schema();
        if index.schema() != schema {
            return Err(tantivy::TantivyError::SchemaError("of another version".to_owned()));
        }
        Ok(Self::with(index, fields))
    }

    /// An empty index in a directory, or in memory.
    pub(crate) fn create(directory: Option<&Path>) -> Result<Self> {
        let (schema, fields) = Fields::schema();
        let index = match directory {
            Some(directory) => Index::create_in_dir(directory, schema)?,
            None => Index::create_in_ram(schema),
        };
        Ok(Self::with(index, fields))
    }

    fn with(index: Index, fields: Fields) -> Self {
        index.tokenizers().register("blanks", TextAnalyzer::from(WhitespaceTokenizer::default()));
        Self { index, fields }
    }

    /// Opens the index for adding so many documents.
    pub(crate) fn writer(&self, documents: usize) -> Result<LexicalWriter> {
        let (threads, bytes) =
            if documents < FEW_DOCUMENTS { (1, FEW_BYTES) } else { (WRITER_THREADS, WRITER_BYTES) };
        let writer = self.index.writer_with_num_threads(threads, threads * bytes)?;
        Ok(LexicalWriter { writer, fields: self.fields })
    }

    /// The index as it is now.
    pub(crate) fn reader(&self) -> Result<Reader> {
        let builder = self.index.reader_builder().reload_policy(tantivy::ReloadPolicy::Manual);
        let searcher = builder.try_into()?.searcher();
        let mut averages = [0.0; 3];
        for (average, (field, _)) in averages.iter_mut().zip(self.fields.stems) {
            *average = average_length(&searcher, field)?;
        }
        let segment = |segment: &SegmentReader| {
            let field = |(field, weight): (Field, f32), average: f32| {
                tantivy::Result::Ok(FieldReader {
                    field,
                    index: segment.inverted_index(field)?,
                    lengths: segment.get_fieldnorms_reader(field)?,
                    weight,
                    per_length: LENGTH / average,
                })
            };
            let [name, description, rest] = self.fields.stems;
            let fields =
                [field(name, averages[0])?, field(description, averages[1])?, field(rest, averages[2])?];
            let alive = segment.alive_bitset().cloned();
            Ok(Segment { documents: segment.max_doc() as usize, alive, fields })
        };
        let segments = searcher.segment_readers().iter().map(segment).collect::<Result<_>>()?;
        Ok(Reader { segments, exact: self.fields.exact, searcher })
    }

    /// Whether no file of it is damaged.
    pub(crate) fn is_whole(&self) -> bool {
        self.index.validate_checksum().is_ok_and(|damaged| damaged.is_empty())
    }
}

impl Reader {
    /// How many skills there are.
    pub(crate) fn len(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// How many documents there are, dead ones too.
    pub(crate) fn all(&self) -> u64 {
        self.segments.iter().map(|segment| segment.documents as u64).sum()
    }

    /// The keys of the documents of each segment, in their order.
    pub(crate) fn keys(&self) -> Result<Vec<Vec<u64>>> {
        let of_segment = |segment: &SegmentReader| {
            let column = segment.fast_fields().u64("key")?;
            Ok((0..segment.max_doc()).map(|doc| column.first(doc).unwrap_or(0)).collect())
        };
        self.searcher.segment_readers().iter().map(of_segment).collect()
    }

    /// Looks a stem up.
    pub(crate) fn find(&self, stem: &str) -> Result<Found> {
        let mut found = Found { places: Vec::with_capacity(self.segments.len()), count: 0, rarity: 0.0 };
        for segment in &self.segments {
            let mut places = [const { None }; 3];
            for (place, field) in places.iter_mut().zip(&segment.fields) {
                *place = field.index.get_term_info(&Term::from_field_text(field.field, stem))?;
            }
            let most = places.iter().flatten().map(|info: &TermInfo| info.doc_freq).max();
            found.count += most.unwrap_or(0);
            found.places.push(places);
        }
        let (all, having) = (as_f32(self.len()), as_f32(found.count.into()));
        found.rarity = (1.0 + (all - having + 0.5).max(0.0) / (having + 0.5)).ln();
        Ok(found)
    }

    /// The best documents for a question: segment, document, and a score of about one for a perfect match.
    pub(crate) fn query(&self, question: &Question, limit: usize) -> Result<Vec<(usize, u32, f32)>> {
        let most: f32 = question.concepts.iter().map(|concept| concept.rarity).sum();
        let mut found = Vec::new();
        for number in 0..self.segments.len() {
            let mut best = self.score(number, question)?;
            if best.len() > limit {
                best.select_nth_unstable_by(limit, |a, b| b.1.total_cmp(&a.1));
                best.truncate(limit);
            }
            found.extend(
                best.into_iter().map(|(doc, score)| (number, doc, score / most.max(f32::MIN_POSITIVE))),
            );
        }
        found.sort_by(|a, b| b.2.total_cmp(&a.2));
        found.truncate(limit);
        Ok(found)
    }

    /// Every document of a segment that has any of the words: of each concept the best alternative counts.
    fn score(&self, number: usize, question: &Question) -> Result<Vec<(u32, f32)>> {
        let Some(segment) = self.segments.get(number) else { return Ok(Vec::new()) };
        let [mut total, mut of_concept, mut of_term] = [(); 3].map(|()| Sums::new(segment.documents));
        for concept in &question.concepts {
            for alternative in &concept.alternatives {
                let Some(places) = alternative.found.places.get(number) else { continue };
                segment.frequencies(places, &mut of_term)?;
                let worth = alternative.weight * alternative.found.rarity;
                of_term
                    .drain(|doc, frequency| of_concept.raise(doc, worth * frequency / (frequency + DAMPING)));
            }
            of_concept.drain(|doc, score| total.add(doc, score));
        }
        let mut all = Vec::with_capacity(total.touched.len());
        total.drain(|doc, score| all.push((doc, score)));
        Ok(all)
    }

    /// Words of names and descriptions that are one letter away from this one, the commonest first.
    pub(crate) fn near(&self, word: &str) -> Result<Vec<String>> {
        let query = FuzzyTermQuery::new(Term::from_field_text(self.exact, word), 1, true);
        let automaton = query.automaton()?;
        let mut found = Counted::default();
        for segment in self.searcher.segment_readers() {
            let index = segment.inverted_index(self.exact)?;
            let mut stream = index.terms().search(&automaton).into_stream()?;
            while stream.advance() {
                found.add(stream.key(), stream.value().doc_freq);
            }
        }
        Ok(found.commonest(NEAR_MAX))
    }

    /// Words of names and descriptions that begin with this one, the commonest first.
    pub(crate) fn beginning_with(&self, word: &str) -> Result<Vec<String>> {
        let mut found = Counted::default();
        for segment in self.searcher.segment_readers() {
            let index = segment.inverted_index(self.exact)?;
            let mut stream = index.terms().range().ge(word.as_bytes()).into_stream()?;
            let mut seen = 0;
            while seen < BEGINNING_SEEN && stream.advance() && stream.key().starts_with(word.as_bytes()) {
                seen += 1;
                found.add(stream.key(), stream.value().doc_freq);
            }
        }
        Ok(found.commonest(BEGINNING_MAX))
    }
}

impl Segment {
    /// How often a stem stands in each document, weighted by where and by the length of the text around it.
    fn frequencies(&self, places: &[Option<TermInfo>; 3], sums: &mut Sums) -> Result<()> {
        for (field, place) in self.fields.iter().zip(places) {
            let Some(place) = place else { continue };
            let mut postings =
                field.index.read_postings_from_terminfo(place, IndexRecordOption::WithFreqs)?;
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if self.alive.as_ref().is_none_or(|alive| alive.is_alive(doc)) {
                    let length = as_f32(field.lengths.fieldnorm(doc).into()).max(1.0);
                    let norm = 1.0 - LENGTH + field.per_length * length;
                    sums.add(doc, field.weight * as_f32(postings.term_freq().into()) / norm);
                }
                doc = postings.advance();
            }
        }
        Ok(())
    }
}

/// A number for each document, of which most are zero.
struct Sums {
    numbers: Vec<f32>,
    touched: Vec<u32>,
}

impl Sums {
    fn new(documents: usize) -> Self {
        Self { numbers: vec![0.0; documents], touched: Vec::new() }
    }

    fn change(&mut self, doc: u32, change: impl FnOnce(f32) -> f32) {
        let Some(number) = self.numbers.get_mut(doc as usize) else { return };
        if *number == 0.0 {
            self.touched.push(doc);
        }
        *number = change(*number);
    }

    fn add(&mut self, doc: u32, more: f32) {
        self.change(doc, |number| number + more);
    }

    fn raise(&mut self, doc: u32, to: f32) {
        self.change(doc, |number| number.max(to));
    }

    /// Hands out every number that is not zero, and makes it zero.
    fn drain(&mut self, mut each: impl FnMut(u32, f32)) {
        for doc in self.touched.drain(..) {
            if let Some(number) = self.numbers.get_mut(doc as usize) {
                each(doc, std::mem::take(number));
            }
        }
    }
}

/// How many words a field has, on average.
fn average_length(searcher: &Searcher, field: Field) -> Result<f32> {
    let words = searcher.segment_readers().iter().try_fold(0, |sum, segment| {
        tantivy::Result::Ok(sum + segment.inverted_index(field)?.total_num_tokens())
    })?;
    Ok((as_f32(words) / as_f32(searcher.num_docs()).max(1.0)).max(1.0))
}

#[expect(clippy::cast_precision_loss, reason = "counts of skills and words need no more precision")]
fn as_f32(count: u64) -> f32 {
    count as f32
}

/// Words and how many skills have them.
#[derive(Default)]
struct Counted(HashMap<String, u32>);

impl Counted {
    fn add(&mut self, word: &[u8], count: u32) {
        if let Ok(word) = std::str::from_utf8(word) {
            *self.0.entry(word.to_owned()).or_default() += count;
        }
    }

    fn commonest(self, most: usize) -> Vec<String> {
        let mut all: Vec<(String, u32)> = self.0.into_iter().collect();
        all.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then_with(|| a.cmp(b)));
        all.into_iter().take(most).map(|(word, _)| word).collect()
    }
}

/// Adds to an index and takes away.
pub(crate) struct LexicalWriter {
    writer: IndexWriter,
    fields: Fields,
}

impl LexicalWriter {
    pub(crate) fn add(&self, key: u64, text: &SkillText) -> Result<()> {
        let mut document = TantivyDocument::new();
        document.add_u64(self.fields.key, key);
        let texts = [&text.name, &text.description, &text.rest];
        for ((field, _), stems) in self.fields.stems.into_iter().zip(texts) {
            document.add_text(field, stems);
        }
        document.add_text(self.fields.exact, &text.exact);
        self.writer.add_document(document).map(drop)
    }

    pub(crate) fn remove(&self, key: u64) {
        self.writer.delete_term(Term::from_field_u64(self.fields.key, key));
    }

    pub(crate) fn commit(mut self) -> Result<()> {
        self.writer.commit()?;
        self.writer.wait_merging_threads()
    }
}
