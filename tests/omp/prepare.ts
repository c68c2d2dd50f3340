// What oh-my-pi makes of branches: reads { cases, texts, files } as JSON on stdin, writes its answers as JSON to stdout.
// Started by make_vectors.py, in a folder whose node_modules holds the package. Entries are known by their time.

const core = "@oh-my-pi/pi-agent-core";
const { collectEntriesForBranchSummary, prepareBranchEntries } = await import(`${core}/compaction/branch-summarization`);
const { computeFileLists, truncateToolResultForSummary, upsertFileOperations } = await import(`${core}/compaction/utils`);
const { Tokenizer } = await import(`${core}/tokenizer`);

const tokenizer = new Tokenizer({}); // a model that it has no tokenizer for: a fourth of the bytes

function session(entries) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const getBranch = (id) => {
    const path = [];
    for (let entry = byId.get(id); entry; entry = byId.get(entry.parentId)) path.unshift(entry);
    return path;
  };
  return { getBranch, getEntry: (id) => byId.get(id) };
}

function preparedAt(entries, budget) {
  const { messages, fileOps, totalTokens } = prepareBranchEntries(entries, tokenizer, budget);
  return { messages: messages.map(({ timestamp }) => timestamp), tokens: totalTokens, ...computeFileLists(fileOps) };
}

function moved(entries, [leaf, target], budgets) {
  const left = collectEntriesForBranchSummary(session(entries), leaf, target ?? "nowhere");
  return {
    entries: left.entries.map(({ id }) => id),
    common: left.commonAncestorId,
    prepared: budgets.map((budget) => preparedAt(left.entries, budget)),
  };
}

/** How many of the letter are left, and what stands behind them. */
function cut(letter, text) {
  const kept = text.lastIndexOf(letter) + 1;
  return [kept, text.slice(kept)];
}

const { cases, texts, files } = JSON.parse(await Bun.stdin.text());
const answers = {
  cases: cases.map(({ entries, moves, budgets }) => moves.map((move) => moved(entries, move, budgets))),
  texts: texts.map(([letter, times]) => cut(letter, truncateToolResultForSummary(letter.repeat(times)))),
  files: files.map(({ text, read, modified, both }) => upsertFileOperations(text, read, modified, new Set([...read, ...both]))),
};
process.stdout.write(JSON.stringify(answers));
