// A long session, written by the real Pi: its whole AgentSession runs, with a model that reads its lines from a script.
//
// Run, from the root of the checkout:
//
//     python -m tests.pi.make_session
//
// which finds Pi and a Node that is new enough (Pi 1.6.0 asks for 22.19) and starts this file with
//
//     PI_ROOT=<folder whose node_modules holds Pi> <node> tests/pi/make_session.mjs tests/data/pi-ringing-v3.jsonl
//
// The story is in `ringing_story.mjs`; here is what makes it happen. Clock and dice are ours, so that the same script and the
// same Pi write the same bytes. Before the file is put in place, Pi opens it again and must find the same leaf, and no path of
// this machine may be left in it.

import crypto from "node:crypto";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [target] = process.argv.slice(2);
const root = process.env.PI_ROOT;
if (!target || !root) throw new Error("usage: PI_ROOT=<install root> node make_session.mjs <file to write>");

const CWD = "/home/dev/ringing"; // what the file says instead of the scratch folder that the session ran in
const SESSION_ID = "019ca8d2-5c00-7a11-9e64-5f0b2d7c3a18"; // UUIDv7 of the first second of the story

// --- clock and dice: before anything of Pi is loaded -----------------------------------------------------------------------

let now = Date.parse("2026-03-02T08:00:00Z");
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(now);
    else super(...args);
  }
  static now() {
    return now;
  }
};
performance.now = () => now;

let seed = 20260302;
/** mulberry32: small, and good enough for ids and pauses. */
function dice() {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
function fill(bytes) {
  for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(dice() * 256);
  return bytes;
}
crypto.randomUUID = () => {
  const hex = Buffer.from(fill(new Uint8Array(16))).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
};
syncBuiltinESMExports();
/** Time goes by: `from` to `to` seconds, with odd milliseconds. */
function pause(from, to) {
  now += Math.floor((from + dice() * (to - from)) * 1000);
}

// --- Pi, in a world of its own ---------------------------------------------------------------------------------------------

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "pi-ringing-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));
const agentDir = path.join(scratch, "agent");
const cwd = path.join(scratch, "ringing");
for (const dir of [agentDir, cwd]) fs.mkdirSync(dir);
process.env.PI_CODING_AGENT_DIR = agentDir;
process.env.HOME = scratch;
process.chdir(cwd);

const load = (file) => import(pathToFileURL(path.join(root, "node_modules", "@earendil-works", file)).href);
const { createProvider } = await load("pi-ai/dist/index.js");
const { createAssistantMessageEventStream } = await load("pi-ai/dist/utils/event-stream.js");
const { ModelRuntime } = await load("pi-coding-agent/dist/core/model-runtime.js");
const { SessionManager } = await load("pi-coding-agent/dist/core/session-manager.js");
const { SettingsManager } = await load("pi-coding-agent/dist/core/settings-manager.js");
const { DefaultResourceLoader } = await load("pi-coding-agent/dist/core/resource-loader.js");
const { createAgentSession } = await load("pi-coding-agent/dist/core/sdk.js");

// --- the model: says the next line of the script ---------------------------------------------------------------------------

const lines = []; // answers to the agent, in order
const summaries = []; // answers to requests for a summary, in order
const prefixes = []; // the same for the first half of a turn that a compaction cuts in two: asked for only if it does
let missing = 0; // requests that found no line: the script is wrong

const BASE = { api: "story-api", provider: "story", baseUrl: "story:", reasoning: true, input: ["text", "image"] };
const small = { ...BASE, id: "heron-small", name: "Heron small", contextWindow: 13_000, maxTokens: 2_000 };
const large = { ...BASE, id: "heron-large", name: "Heron large", contextWindow: 64_000, maxTokens: 8_000 };
small.cost = { input: 0.5, output: 2, cacheRead: 0.05, cacheWrite: 0.6 };
large.cost = { input: 3, output: 12, cacheRead: 0.3, cacheWrite: 3.75 };

const round = (dollars) => Math.round(dollars * 1e6) / 1e6;

/** What a provider might count: four characters a token, and all that was sent last time is in its cache. */
let sentBefore = 0;
function count(model, context, content) {
  const sent = Math.ceil(JSON.stringify(context.messages).length / 4);
  const output = Math.ceil(JSON.stringify(content).length / 4);
  const cacheRead = sent > sentBefore ? sentBefore : 0;
  sentBefore = sent;
  const input = sent - cacheRead;
  const cost = {
    input: round((input * model.cost.input) / 1e6),
    output: round((output * model.cost.output) / 1e6),
    cacheRead: round((cacheRead * model.cost.cacheRead) / 1e6),
    cacheWrite: 0,
  };
  cost.total = round(cost.input + cost.output + cost.cacheRead);
  return { input, output, cacheRead, cacheWrite: 0, totalTokens: input + output + cacheRead, cost };
}

/** A summary is asked for with the whole conversation inside one text. */
function script(context) {
  const last = JSON.stringify(context.messages.at(-1)?.content ?? "");
  if (last.includes("# Conversation")) return prefixes;
  return last.includes("<conversation>") ? summaries : lines;
}

function stream(model, context, options) {
  const events = createAssistantMessageEventStream();
  const from = script(context);
  const line = from.shift();
  queueMicrotask(async () => {
    pause(2, 19);
    if (line === undefined) missing += 1;
    const { content = [], stop = "error", error, wait = false, onStart } = line ?? { error: "the script has ended" };
    const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const free = { ...nothing, totalTokens: 0, cost: { ...nothing, total: 0 } };
    const { api, provider } = model;
    const message = { role: "assistant", content, api, provider, model: model.id, usage: free };
    message.stopReason = stop;
    message.timestamp = now;
    const partial = (upTo) => ({ ...message, content: content.slice(0, upTo), stopReason: "pending" });
    events.push({ type: "start", partial: partial(0) });
    for (const [contentIndex, block] of content.entries()) {
      const common = { contentIndex, partial: partial(contentIndex + 1) };
      if (block.type === "toolCall") {
        events.push({ type: "toolcall_start", ...common });
        events.push({ type: "toolcall_end", toolCall: block, ...common });
      } else {
        const words = block.text ?? block.thinking;
        events.push({ type: `${block.type}_start`, ...common });
        events.push({ type: `${block.type}_delta`, delta: words, ...common });
        events.push({ type: `${block.type}_end`, content: words, ...common });
      }
    }
    if (wait) {
      const aborted = new Promise((resolve) => options.signal.addEventListener("abort", resolve, { once: true }));
      setImmediate(onStart);
      await aborted;
      message.stopReason = "aborted";
      message.errorMessage = "Request was aborted";
    }
    if (error) message.errorMessage = error;
    if (!["error", "aborted"].includes(message.stopReason)) message.usage = count(model, context, content);
    const failed = ["error", "aborted"].includes(message.stopReason);
    events.push(
      failed
        ? { type: "error", reason: message.stopReason, error: message }
        : { type: "done", reason: message.stopReason, message },
    );
    events.end(message);
  });
  return events;
}

// --- the session that the story happens in ----------------------------------------------------------------------------------

const { SYSTEM, makeTools, tell } = await import("./ringing_story.mjs");

const modelRuntime = await ModelRuntime.create({
  authPath: path.join(agentDir, "auth.json"),
  modelsPath: path.join(agentDir, "models.json"),
});
const auth = { apiKey: { name: "Story", resolve: async () => ({ auth: { apiKey: "none" } }) } };
modelRuntime.registerNativeProvider(
  createProvider({ id: "story", auth, models: [small, large], api: { stream, streamSimple: stream } }),
);
await modelRuntime.checkAuth("story");
const settingsManager = SettingsManager.inMemory({
  compaction: { reserveTokens: 4_000, keepRecentTokens: 1_500 },
  retry: { baseDelayMs: 1 },
});
let extension;
const resourceLoader = new DefaultResourceLoader({
  cwd,
  agentDir,
  settingsManager,
  noExtensions: true,
  noSkills: true,
  noContextFiles: true,
  noPromptTemplates: true,
  systemPrompt: SYSTEM,
  extensionFactories: [
    (pi) => {
      extension = pi;
    },
  ],
});
await resourceLoader.reload();
const manager = SessionManager.create(cwd, path.join(scratch, "sessions"), { id: SESSION_ID });
const { session } = await createAgentSession({
  cwd,
  agentDir,
  modelRuntime,
  settingsManager,
  resourceLoader,
  sessionManager: manager,
  model: modelRuntime.getModel("story", "heron-small"),
  thinkingLevel: "low",
  noTools: "builtin",
  customTools: makeTools(pause),
});
const complaints = [];
await session.bindExtensions({ onError: (error) => complaints.push(error) });

/** The user types, and the model says `answers` line by line until the run ends. */
async function turn(typed, ...answers) {
  pause(25, 240);
  const options = typeof typed === "string" ? {} : { images: typed.images };
  lines.push(...answers);
  await session.prompt(typeof typed === "string" ? typed : typed.text, options);
  if (lines.length > 0 || missing > 0) {
    throw new Error(`"${typed.text ?? typed}": ${lines.length} lines too many, ${missing} too few`);
  }
}

/** The user types and then stops the model in the middle of its line. */
async function interrupted(typed, line) {
  await turn(typed, { ...line, wait: true, onStart: () => void session.abort() });
  await session.waitForIdle();
}

const entries = () => manager.getEntries();
/** The id of the last entry that `test` accepts. */
const find = (test) => entries().findLast(test)?.id ?? (() => { throw new Error(`not found: ${test}`); })();

await tell({
  session,
  manager,
  extension,
  summaries,
  prefixes,
  turn,
  interrupted,
  find,
  pause,
  model: (id) => modelRuntime.getModel("story", id),
});

// --- and what came of it ---------------------------------------------------------------------------------------------------

if (summaries.length > 0) throw new Error(`${summaries.length} summaries were never asked for`);
if (complaints.length > 0) throw new Error(`extension errors: ${JSON.stringify(complaints)}`);
const leaf = manager.getLeafId();
const written = fs.readFileSync(manager.getSessionFile(), "utf8").replaceAll(cwd, CWD);
for (const [what, place] of Object.entries({ scratch, root, home: os.homedir(), here: import.meta.dirname })) {
  if (written.includes(place)) throw new Error(`the ${what} folder is named in the file`);
}
const draft = path.join(scratch, "draft.jsonl");
fs.writeFileSync(draft, written);
const again = SessionManager.open(draft);
if (again.getLeafId() !== leaf) throw new Error(`the leaf was ${leaf} and is ${again.getLeafId()}`);
if (fs.readFileSync(draft, "utf8") !== written) throw new Error("Pi changed the file when it opened it");
fs.writeFileSync(target, written);

const kinds = {};
for (const entry of again.getEntries()) {
  const kind = entry.type === "message" ? `message ${entry.message.role}` : entry.type;
  kinds[kind] = (kinds[kind] ?? 0) + 1;
}
console.log(JSON.stringify({ entries: again.getEntries().length, bytes: Buffer.byteLength(written), kinds, leaf }, null, 1));
session.dispose();
process.exit(0);
