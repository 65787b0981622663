import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./", // under whatever path the page is served
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "built", // committed, so that nobody needs Node to use the page
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // the page's policy lets nothing be inline
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
  },
  test: { testTimeout: 60_000 }, // for one that hangs: how long it takes to draw is the machine's affair
});
