/** `node bundle.mjs <bundler> <browser|node> <entry> <file>`: a program as a module, with the settings that docs/bundling.md names. */
import commonjs from '@rollup/plugin-commonjs'
import resolve from '@rollup/plugin-node-resolve'
import { basename, dirname } from 'node:path'
import { rollup } from 'rollup'
// The one of vitest.
import { build } from 'vite'
import webpack from 'webpack'

const bundlers = {
  async rollup(target, input, file) {
    const conditions = target === 'node' ? { preferBuiltins: true } : { browser: true }
    const bundle = await rollup({
      input,
      external: target === 'node' ? /^node:/ : [],
      plugins: [resolve(conditions), commonjs()],
      onwarn: ({ code, message }) => {
        if (code === 'UNRESOLVED_IMPORT') throw new Error(message)
      },
    })
    const output =
      target === 'node'
        ? { dir: dirname(file), entryFileNames: basename(file), chunkFileNames: '[name].mjs' }
        : { file, inlineDynamicImports: true }
    await bundle.write({ ...output, format: 'es' })
  },
  async vite(target, entry, file) {
    if (target !== 'node') throw new Error('Vite bundles for a browser as Rollup does')
    await build({
      configFile: false,
      root: dirname(entry),
      logLevel: 'error',
      build: {
        ssr: entry,
        target: 'node22',
        outDir: dirname(file),
        emptyOutDir: false,
        rollupOptions: { output: { entryFileNames: basename(file) } },
      },
      ssr: { noExternal: true },
    })
  },
  async webpack(target, entry, file) {
    const isForNode = target === 'node'
    const config = {
      entry,
      mode: 'production',
      target: isForNode ? 'node22' : 'web',
      experiments: { outputModule: true },
      output: {
        path: dirname(file),
        filename: basename(file),
        module: true,
        library: { type: 'module' },
        ...(isForNode && { chunkFormat: 'module', chunkFilename: '[id].mjs' }),
      },
      performance: { hints: false },
      // What minifies is terser, which takes minutes for the layout engine of charts.
      optimization: { minimize: false },
      plugins: isForNode ? [] : [new webpack.optimize.LimitChunkCountPlugin({ maxChunks: 1 })],
    }
    await new Promise((done, failed) => {
      webpack(config, (error, stats) => {
        if (error !== null || stats.hasErrors()) failed(error ?? new Error(stats.toString('errors-only')))
        else done()
      })
    })
  },
}

const [name, target, entry, file] = process.argv.slice(2)
await bundlers[name](target, entry, file)
