/** `node bundle.mjs <bundler> <browser|node> <entry> <file>`: a program as one file, as the documentation of each bundler says. */
import commonjs from '@rollup/plugin-commonjs'
import resolve from '@rollup/plugin-node-resolve'
import { basename, dirname } from 'node:path'
import { rollup } from 'rollup'
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
    await bundle.write({ file, format: 'es', inlineDynamicImports: true })
  },
  async webpack(target, entry, file) {
    const config = {
      entry,
      mode: 'production',
      target: target === 'node' ? 'node22' : 'web',
      experiments: { outputModule: true },
      output: { path: dirname(file), filename: basename(file), module: true, library: { type: 'module' } },
      performance: { hints: false },
      // What minifies is terser, which takes minutes for the layout engine of charts.
      optimization: { minimize: false },
      plugins: [new webpack.optimize.LimitChunkCountPlugin({ maxChunks: 1 })],
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
