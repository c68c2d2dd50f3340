// What the real Pi makes of a session file: one process, many questions.
//
// Start:   PI_ROOT=<folder whose node_modules holds Pi> node tests/pi/oracle.mjs
// Speak:   one JSON object a line on stdin; one JSON object a line on stdout, in the same order. Anything that goes wrong is
//          { error: text } for that question alone. Needs Pi's session manager only, so Node 20 will do.
//
// Questions (a `?` marks what may be left out):
//
//   { op: "version" }                          -> { pi, node, sessionVersion }
//   { op: "open", path, at?, inPlace?, llm? }  -> what Pi sees; `at` moves the leaf first (null: before the first entry).
//       The file is copied and the copy is opened, for Pi rewrites old versions and closes torn tails; `inPlace: true` opens
//       the file itself. `changed` tells whether opening changed the bytes. `llm: true` adds what a provider would be sent.
//   { op: "contexts", files: [{ path, at }] }  -> { answers }: for each file what Pi's buildSessionContext gives at its leaf, and then at
//       each of the entries in `at` (null: before the first one). The files themselves are opened: they must be of version 3 and whole.
//   { op: "plans", files: [{ path, at, keeps }] } -> { answers }: for each file, at its own leaf and then at each of the entries in `at`, and
//       for each number of tokens to keep, what Pi's prepareCompaction makes of it (null: nothing)
//   { op: "branches", files: [{ path, moves: [[leaf, target]], budgets }] } -> { answers }: for each move of each file the ids of the entries
//       that Pi's collectEntriesForBranchSummary gives, their common ancestor, the messages that prepareBranchEntries makes of all of them,
//       and for each budget how many of the last of these it takes, their tokens, and the files (a target of null is one that is nowhere)
//   { op: "planning", path, keep, times }      -> seconds of CPU for so many calls of prepareCompaction on the branch of that file
//   { op: "append", path, appends }            -> opens the file itself and appends through Pi's own methods
//   { op: "create", dir, cwd, id?, appends? }  -> a new session; `written` is false while Pi keeps it in memory only
//   { op: "branched", path, leaf }             -> Pi's own copy of one path to a new file
//   { op: "fork", path, dir, cwd }             -> Pi's own copy of a whole file to a new file
//   { op: "totals", path }                     -> Pi's own sums of the usage of all entries
//   { op: "list", dir, cwd }                   -> what Pi lists in a folder
//   { op: "cost", dir, count, text }           -> seconds of CPU for so many appends of a message of that text to a new session
//   { op: "listing", dir, cwd }                -> seconds of CPU for Pi's list of a folder, and how many sessions it has
//   { op: "forking", path, dir, cwd, leaf? }   -> seconds of CPU for Pi's copy of a whole file, or of the path to `leaf`; the copy is removed
//   { op: "opening", path }                    -> seconds of CPU for SessionManager.open, and how many entries it has
//   { op: "rebuilding", path, times }          -> seconds of CPU for Pi's buildSessionContext after each of so many appends, without the
//       appends, and how many messages the last one had; the file is copied first
//
// An append is { what, ... }; it may carry `as: "name"`, and "$name" then stands for its id in later ones:
//
//   message { message } | thinking { level } | model { provider, modelId } | usage { kind, provider, model, usage, note? }
//   compaction { summary, firstKept, tokensBefore, details?, fromHook?, usage? }   firstKept: null keeps nothing
//   context_edit { target, replacement } | label { target, label? } | session_info { name }
//   custom { customType, data? } | custom_message { customType, content, display, details? }
//   branch { to } (null: before the first entry; appends nothing) | branch_summary { to, summary, details?, fromHook?, usage? }

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const root = process.env.PI_ROOT;
if (!root) throw new Error("PI_ROOT is not set");
const scope = path.join(root, "node_modules", "@earendil-works");
const load = (file) => import(pathToFileURL(path.join(scope, file)).href);

for (const level of ["log", "info", "debug"]) console[level] = console.error; // stdout is for answers only
const { SessionManager, CURRENT_SESSION_VERSION } = await load("pi-coding-agent/dist/core/session-manager.js");
const { prepareCompaction } = await load("pi-coding-agent/dist/core/compaction/compaction.js");
const { collectEntriesForBranchSummary, prepareBranchEntries } = await load(
  "pi-coding-agent/dist/core/compaction/branch-summarization.js",
);
const { computeFileLists } = await load("pi-coding-agent/dist/core/compaction/utils.js");
const { addUsageToTotals, createUsageTotals } = await load("pi-coding-agent/dist/core/usage-totals.js");
const { convertToLlm } = await load("pi-coding-agent/dist/core/messages.js");
const { getCurrentSystemMessage } = await load("pi-ai/dist/index.js");
const pi = JSON.parse(fs.readFileSync(path.join(scope, "pi-coding-agent/package.json"), "utf8")).version;

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "pi-oracle-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));
let copies = 0;

/** A file that exists, by an absolute path: Pi would quietly start a new session for one that does not. */
function existing(file) {
  if (typeof file !== "string" || !fs.existsSync(file)) throw new Error(`No such file: ${file}`);
  return path.resolve(file);
}

/** Pi walks parents without a guard and would take all memory on a cycle; better to say so. */
function refuseCycle(manager) {
  const seen = new Set();
  for (let entry = manager.getLeafEntry() ?? manager.getEntries().at(-1); entry; ) {
    if (seen.has(entry.id)) throw new Error(`Cycle at ${entry.id}: Pi would never end`);
    seen.add(entry.id);
    entry = entry.parentId ? manager.getEntry(entry.parentId) : undefined;
  }
}

function view(manager, { llm = false } = {}) {
  refuseCycle(manager);
  const entries = manager.getEntries();
  const projection = manager.buildSessionProjection();
  const labels = {};
  for (const { id } of entries) {
    const label = manager.getLabel(id);
    if (label !== undefined) labels[id] = label;
  }
  return {
    header: manager.getHeader(),
    leaf: manager.getLeafId() ?? null,
    entries: entries.map(({ id, type, parentId }) => ({ id, type, parentId })),
    path: manager.getBranch().map(({ id }) => id),
    selected: projection.entries.map(({ sourceEntry }) => sourceEntry.id ?? null),
    context: projection.entries.flatMap(({ sourceEntry, messages }) =>
      messages.map((message) => ({ source: sourceEntry.id ?? null, message })),
    ),
    model: projection.model,
    thinkingLevel: projection.thinkingLevel,
    systemPrompt: getCurrentSystemMessage(projection.messages) ?? null,
    sessionName: manager.getSessionName() ?? null,
    labels,
    ...(llm ? { llm: convertToLlm(projection.messages) } : {}),
  };
}

function open(question) {
  const original = existing(question.path);
  let file = original;
  if (!question.inPlace) {
    copies += 1;
    file = path.join(scratch, `${copies}.jsonl`);
    fs.copyFileSync(original, file);
  }
  const before = fs.readFileSync(file);
  try {
    const manager = SessionManager.open(file);
    if (question.at === null) manager.resetLeaf();
    else if (question.at !== undefined) manager.branch(question.at);
    return { ...view(manager, question), changed: !before.equals(fs.readFileSync(file)) };
  } finally {
    if (file !== original) fs.rmSync(file, { force: true });
  }
}

/** The context where the leaf is: Pi's own messages, each with the entry that it comes from. */
function contextOf(manager) {
  refuseCycle(manager);
  const { messages, model, thinkingLevel } = manager.buildSessionContext();
  const sources = manager
    .buildSessionProjection()
    .entries.flatMap(({ sourceEntry, messages: given }) => given.map(() => sourceEntry.id ?? null));
  if (sources.length !== messages.length) throw new Error("Pi's context and its projection differ");
  return { context: messages.map((message, nth) => ({ source: sources[nth], message })), model, thinkingLevel };
}

function contexts({ path: file, at }) {
  try {
    const manager = SessionManager.open(existing(file));
    const answers = [contextOf(manager)];
    for (const id of at) {
      if (id === null) manager.resetLeaf();
      else manager.branch(id);
      answers.push(contextOf(manager));
    }
    return answers;
  } catch (error) {
    return { error: error.message };
  }
}

/** What each kind of append calls; `id` resolves "$name". Whatever is returned is the id, or null where nothing is appended. */
const APPEND = {
  message: (m, a) => m.appendMessage(a.message),
  thinking: (m, a) => m.appendThinkingLevelChange(a.level),
  model: (m, a) => m.appendModelChange(a.provider, a.modelId),
  usage: (m, a) => m.appendUsage(a.kind, a.provider, a.model, a.usage, a.note).id,
  compaction: (m, a, id) =>
    m.appendCompaction(a.summary, id(a.firstKept), a.tokensBefore, a.details, a.fromHook, a.usage),
  context_edit: (m, a, id) => m.appendContextEdit(id(a.target), a.replacement),
  label: (m, a, id) => m.appendLabelChange(id(a.target), a.label ?? undefined),
  session_info: (m, a) => m.appendSessionInfo(a.name),
  custom: (m, a) => m.appendCustomEntry(a.customType, a.data),
  custom_message: (m, a) => m.appendCustomMessageEntry(a.customType, a.content, a.display, a.details),
  branch: (m, a, id) => {
    if (a.to === null) m.resetLeaf();
    else m.branch(id(a.to));
    return null;
  },
  branch_summary: (m, a, id) => m.branchWithSummary(id(a.to), a.summary, a.details, a.fromHook, a.usage),
};

function appendAll(manager, appends) {
  const ids = [];
  const names = {};
  const id = (value) => {
    if (typeof value !== "string" || !value.startsWith("$")) return value ?? null;
    if (!Object.hasOwn(names, value.slice(1))) throw new Error(`No append is called ${value}`);
    return names[value.slice(1)];
  };
  for (const [index, append] of appends.entries()) {
    try {
      if (!Object.hasOwn(APPEND, append.what)) throw new Error(`No such append: ${append.what}`);
      const made = APPEND[append.what](manager, append, id);
      ids.push(made);
      if (append.as !== undefined) names[append.as] = made;
    } catch (error) {
      return { error: error.message, failedAt: index, ids, names, leaf: manager.getLeafId() };
    }
  }
  return { ids, names, leaf: manager.getLeafId() };
}

function opening({ path: file }) {
  const started = process.cpuUsage();
  const manager = SessionManager.open(existing(file));
  const used = process.cpuUsage(started);
  return { seconds: (used.user + used.system) / 1e6, entries: manager.getEntries().length };
}

function rebuilding({ path: original, times }) {
  const file = path.join(scratch, "rebuilding.jsonl");
  fs.copyFileSync(existing(original), file);
  const manager = SessionManager.open(file);
  let micros = 0;
  let messages = 0;
  for (let n = 0; n < times; n += 1) {
    manager.appendMessage({ role: "user", content: [{ type: "text", text: "and now?" }], timestamp: n });
    const started = process.cpuUsage();
    messages = manager.buildSessionContext().messages.length;
    const used = process.cpuUsage(started);
    micros += used.user + used.system;
  }
  fs.rmSync(file, { force: true });
  return { seconds: micros / 1e6, messages };
}

const settings = (keep) => ({ enabled: true, reserveTokens: 16384, keepRecentTokens: keep });

function plansAt(manager, keeps) {
  refuseCycle(manager);
  const branch = manager.getBranch();
  return keeps.map((keep) => {
    const plan = prepareCompaction(branch, settings(keep));
    if (!plan) return null;
    const { firstKeptEntryId, messagesToSummarize, turnPrefixMessages, isSplitTurn, previousSummary } = plan;
    return { firstKeptEntryId, messagesToSummarize, turnPrefixMessages, isSplitTurn, previousSummary: previousSummary ?? null };
  });
}

function plans({ path: file, at, keeps }) {
  try {
    const manager = SessionManager.open(existing(file));
    const answers = [plansAt(manager, keeps)];
    for (const id of at) {
      if (id === null) manager.resetLeaf();
      else manager.branch(id);
      answers.push(plansAt(manager, keeps));
    }
    return answers;
  } catch (error) {
    return { error: error.message };
  }
}

function preparedAt(entries, all, budget) {
  const { messages, fileOps, totalTokens } = prepareBranchEntries(entries, budget);
  if (messages.some((message, nth) => JSON.stringify(message) !== JSON.stringify(all.at(nth - messages.length))))
    throw new Error("Pi's prepared messages are not the last ones");
  return { taken: messages.length, tokens: totalTokens, ...computeFileLists(fileOps) };
}

function moved(manager, [leaf, target], budgets) {
  const { entries, commonAncestorId } = collectEntriesForBranchSummary(manager, leaf, target ?? "nowhere");
  const { messages } = prepareBranchEntries(entries, 0);
  const prepared = budgets.map((budget) => preparedAt(entries, messages, budget));
  return { entries: entries.map(({ id }) => id), common: commonAncestorId, messages, prepared };
}

function branches({ path: file, moves, budgets }) {
  try {
    const manager = SessionManager.open(existing(file));
    refuseCycle(manager);
    return moves.map((move) => moved(manager, move, budgets));
  } catch (error) {
    return { error: error.message };
  }
}

function planning({ path: file, keep, times }) {
  const branch = SessionManager.open(existing(file)).getBranch();
  const started = process.cpuUsage();
  let summarised = 0;
  for (let n = 0; n < times; n += 1) {
    summarised = prepareCompaction(branch, settings(keep))?.messagesToSummarize.length ?? 0;
  }
  const used = process.cpuUsage(started);
  return { seconds: (used.user + used.system) / 1e6, summarised };
}

const ANSWER = {
  version: () => ({ pi, node: process.versions.node, sessionVersion: CURRENT_SESSION_VERSION }),
  open,
  contexts: (question) => ({ answers: question.files.map(contexts) }),
  plans: (question) => ({ answers: question.files.map(plans) }),
  branches: (question) => ({ answers: question.files.map(branches) }),
  planning,
  opening,
  rebuilding,
  append: (question) => {
    const manager = SessionManager.open(existing(question.path));
    return { file: manager.getSessionFile(), ...appendAll(manager, question.appends) };
  },
  create: (question) => {
    fs.mkdirSync(question.dir, { recursive: true });
    const manager = SessionManager.create(question.cwd, question.dir, question.id ? { id: question.id } : undefined);
    const done = appendAll(manager, question.appends ?? []);
    const file = manager.getSessionFile();
    return { file, sessionId: manager.getSessionId(), written: fs.existsSync(file), ...done };
  },
  branched: (question) => {
    const manager = SessionManager.open(existing(question.path));
    const file = manager.createBranchedSession(question.leaf);
    return { file, written: fs.existsSync(file), leaf: manager.getLeafId() };
  },
  fork: (question) => {
    const manager = SessionManager.forkFrom(existing(question.path), question.cwd, question.dir);
    return { file: manager.getSessionFile(), leaf: manager.getLeafId() };
  },
  totals: (question) => {
    const totals = createUsageTotals();
    for (const entry of SessionManager.open(existing(question.path)).getEntries()) {
      const usage = entry.type === "message" ? entry.message.usage : entry.usage;
      if (usage) addUsageToTotals(totals, usage);
    }
    return { totals };
  },
  cost: (question) => {
    fs.mkdirSync(question.dir, { recursive: true });
    const manager = SessionManager.create("/", question.dir);
    const said = { role: "assistant", content: [{ type: "text", text: "" }], stopReason: "stop", timestamp: 0 };
    manager.appendMessage(said); // before the first answer Pi keeps everything in memory
    const started = process.cpuUsage();
    for (let n = 0; n < question.count; n += 1) {
      manager.appendMessage({ role: "user", content: [{ type: "text", text: question.text }], timestamp: n });
    }
    const used = process.cpuUsage(started);
    return { seconds: (used.user + used.system) / 1e6, bytes: fs.statSync(manager.getSessionFile()).size };
  },
  listing: async (question) => {
    const started = process.cpuUsage();
    const found = await SessionManager.list(question.cwd, question.dir);
    const used = process.cpuUsage(started);
    return { seconds: (used.user + used.system) / 1e6, sessions: found.length };
  },
  forking: (question) => {
    const started = process.cpuUsage();
    const copied = question.leaf
      ? SessionManager.open(existing(question.path)).createBranchedSession(question.leaf)
      : SessionManager.forkFrom(existing(question.path), question.cwd, question.dir).getSessionFile();
    const used = process.cpuUsage(started);
    const bytes = fs.statSync(copied).size;
    fs.rmSync(copied);
    return { seconds: (used.user + used.system) / 1e6, bytes };
  },
  list: async (question) => ({ sessions: await SessionManager.list(question.cwd, question.dir) }),
};

for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (!line.trim()) continue;
  let answer;
  try {
    const question = JSON.parse(line);
    if (!Object.hasOwn(ANSWER, question.op)) throw new Error(`No such op: ${question.op}`);
    answer = await ANSWER[question.op](question);
  } catch (error) {
    answer = { error: error?.message ?? String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
