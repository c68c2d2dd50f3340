// Loaded before oh-my-pi: its native addon is 180 MB and counts no token for us. A call into it would be seen: it gives no number.

import { plugin } from "bun";

const contents = `
  const nothing = () => new Proxy(class {}, { get: (made, key) => (key in made ? made[key] : String(key)) });
  export const loadNative = () => new Proxy({}, { get: nothing });
  export const missingNativeExport = nothing();
`;

plugin({
  name: "without-natives",
  setup(build) {
    build.onLoad({ filter: /pi-natives[\\/]native[\\/]loader-state\.js$/ }, () => ({ loader: "js", contents }));
  },
});
