import { defineConfig } from "vite";

export default defineConfig({
  build: {
    target: "es2020",
    // Everything is built in and served from one place; nothing is fetched from elsewhere.
    modulePreload: false,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
  },
});
