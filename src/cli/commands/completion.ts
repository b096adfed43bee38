/** `jobchart completion`: a script that completes commands and options in a shell. */
import { Argument, type Command } from 'commander'
import { exitCodes } from '../exit-codes.ts'
import type { Program } from '../command.ts'

const shells = ['bash', 'zsh', 'fish'] as const

export function completionCommand({ command, terminal, run }: Program): Command {
  const completion = command('completion', 'print a script that completes commands and options')
  return completion
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      '\nbash: jobchart completion bash > ~/.local/share/bash-completion/completions/jobchart' +
        '\nzsh:  jobchart completion zsh > a file _jobchart in a folder of $fpath' +
        '\nfish: jobchart completion fish > ~/.config/fish/completions/jobchart.fish',
    )
    .action((shell: (typeof shells)[number]) =>
      run({}, async () => {
        const { parent } = completion
        if (parent !== null) await terminal.print(scripts[shell](wordsOf(parent)))
        return exitCodes.done
      }),
    )
}

interface Words {
  readonly name: string
  readonly description: string
  /** Its options, and its own commands. */
  readonly words: readonly { readonly text: string; readonly description: string }[]
}

const wordsOf = (program: Command): Words[] =>
  program.commands.map((each) => ({
    name: each.name(),
    description: each.description(),
    words: [
      ...each.commands.map((inner) => ({ text: inner.name(), description: inner.description() })),
      // The options of a command that only has commands are those of its default one.
      ...(each.options.length > 0 ? each : (each.commands[0] ?? each)).options.map(({ long, short, description }) => ({
        text: long ?? short ?? '',
        description,
      })),
      { text: '--help', description: 'show its help' },
    ],
  }))

const names = (commands: readonly Words[]): string => commands.map(({ name }) => name).join(' ')
const texts = ({ words }: Words): string => words.map(({ text }) => text).join(' ')
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const scripts = {
  bash: (commands: readonly Words[]): string => `# bash completion of jobchart
_jobchart() {
  local words
  if [ "$COMP_CWORD" -eq 1 ]; then words='${names(commands)} --help --version'; else
    case "\${COMP_WORDS[1]}" in
${commands.map((each) => `      ${each.name}) words='${texts(each)}' ;;`).join('\n')}
      *) words='' ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _jobchart jobchart`,
  zsh: (commands: readonly Words[]): string => `#compdef jobchart
_jobchart() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${commands.map(({ name, description }) => `      ${quoted(`${name}:${description}`)}`).join('\n')}
    )
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map((each) => `    ${each.name}) compadd -- ${texts(each)} ;;`).join('\n')}
  esac
  _files
}
_jobchart "$@"`,
  fish: (commands: readonly Words[]): string =>
    [
      '# fish completion of jobchart',
      ...commands.map(
        ({ name, description }) =>
          `complete -c jobchart -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
      ),
      ...commands.flatMap(({ name, words }) =>
        words.map(({ text, description }) => {
          const what = text.startsWith('--') ? `-l ${text.slice(2)}` : `-f -a ${text}`
          return `complete -c jobchart -n '__fish_seen_subcommand_from ${name}' ${what} -d ${quoted(description)}`
        }),
      ),
    ].join('\n'),
}
