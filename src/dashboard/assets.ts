/** The page: its HTML, and the script and styles that were built into a module. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { headersOf, notFound } from './answers.ts'
import { pushWorker, script, styles } from './page.generated.ts'
import { pictureStyles } from './pictures.ts'

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect x='1' y='4' width='14' height='8' rx='3' fill='%230b62d6'/%3E%3Ccircle cx='5' cy='8' r='1.5' fill='white'/%3E%3Cpath d='M7 8h5' stroke='white' stroke-width='1.5'/%3E%3C/svg%3E"

const html = (title: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="assets/app.css">
<script type="module" src="assets/app.js"></script>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. Its JSON API is under <a href="api/v1">api/v1</a>.</noscript>
</body>
</html>
`

/** A file of the page, as it is sent. */
interface Asset {
  readonly type: string
  readonly etag: string
  /** By encoding, made when it is first asked for: in a thread of the platform, and once. */
  readonly bodies: Map<Encoding, Promise<Uint8Array<ArrayBuffer>>>
  readonly text: string
}

type Encoding = 'br' | 'gzip' | 'identity'

/** The files of the page of one dashboard. */
export class Assets {
  private readonly title: string
  private readonly known = new Map<string, Asset>()

  /** @param title of the dashboard: it is in the HTML */
  constructor(title: string) {
    this.title = title
  }

  /**
   * Browsers revalidate the page on each request; it is sent only if it has changed.
   * @param compresses false: who serves a `Response` compresses by itself, and may remove the header of an encoding, as
   *   Next.js does
   */
  async response(request: Request, name: string, compresses: boolean): Promise<Response> {
    const asset = this.find(name)
    if (asset === null) return notFound(name, 'The page has the files app.js, app.css and push.js.')
    const encoding = compresses ? encodingFor(request.headers.get('accept-encoding') ?? '') : 'identity'
    const etag = `"${asset.etag}-${encoding}"`
    const headers = headersOf(`${asset.type}; charset=utf-8`, {
      'cache-control': 'no-cache',
      etag,
      ...(compresses && { vary: 'accept-encoding' }),
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    })
    if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers })
    const body = asset.bodies.get(encoding) ?? encoded(asset.text, encoding)
    asset.bodies.set(encoding, body)
    return new Response(await body, { headers })
  }

  /** @returns null if the page has no such file */
  private find(name: string): Asset | null {
    const known = this.known.get(name)
    if (known !== undefined) return known
    const found = textOf(name, this.title)
    if (found === null) return null
    const [type, text] = found
    const etag = createHash('sha256').update(text).digest('base64url').slice(0, 22)
    const asset: Asset = { type, text, etag, bodies: new Map() }
    this.known.set(name, asset)
    return asset
  }
}

/** The smallest encoding that a browser takes; one with `q=0` is refused. */
function encodingFor(accepted: string): Encoding {
  const names = new Set(
    accepted
      .toLowerCase()
      .split(',')
      .map((each) => each.trim())
      .filter((each) => !/;\s*q=0(\.0*)?$/.test(each))
      .map((each) => each.split(';', 1)[0]?.trim()),
  )
  return (['br', 'gzip'] as const).find((each) => names.has(each)) ?? 'identity'
}

async function encoded(text: string, encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> {
  const plain = new TextEncoder().encode(text)
  if (encoding === 'identity') return plain
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length }
  const made = encoding === 'br' ? await promisify(brotliCompress)(plain, { params }) : await promisify(gzip)(plain)
  return new Uint8Array(made)
}

function textOf(name: string, title: string): readonly [type: string, text: string] | null {
  if (name === 'index.html') return ['text/html', html(title)]
  if (name === 'app.js') return ['text/javascript', script]
  if (name === 'push.js') return ['text/javascript', pushWorker]
  if (name === 'app.css') return ['text/css', `${pictureStyles()}\n${styles}`]
  return null
}
