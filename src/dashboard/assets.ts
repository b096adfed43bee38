/** The page: its HTML, and the script and styles that were built into a module. */
import { createHash } from 'node:crypto'
import { headersOf, notFound } from './answers.ts'
import { script, styles } from './page.generated.ts'
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

/** Browsers revalidate the page on each request; it is sent only if it has changed. */
export function pageResponse(request: Request, name: string, title: string): Response {
  const found = assetOf(name, title)
  if (found === null) return notFound(name, 'The page has the files app.js and app.css.')
  const [type, text] = found
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  const headers = headersOf(`${type}; charset=utf-8`, { 'cache-control': 'no-cache', etag })
  if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers })
  return new Response(text, { headers })
}

function assetOf(name: string, title: string): readonly [type: string, text: string] | null {
  if (name === 'index.html') return ['text/html', html(title)]
  if (name === 'app.js') return ['text/javascript', script]
  if (name === 'app.css') return ['text/css', `${pictureStyles()}\n${styles}`]
  return null
}
