"""Stop words, too common to distinguish passages, per language (ISO 639-1 code).

Only function words: articles, pronouns, auxiliaries, question words, the plainest prepositions and conjunctions.
Negation, quantity, order and direction (*not*, *all*, *before*, *under*, *if*, *while*) stay searchable: they
carry meaning in manuals and in code. A language without a list loses no words; BM25's idf makes
common words cheap anyway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FORM_OF_VERB = re.compile(
    r"(?:니다|[아어해]요|세요|려는|[하되해돼했됐](?:는|고|면|며|지|기|여도?|야|서|거나|므로|려면)|[있없드]는|되어|된|지만"
    r"|[려혀켜져겨워춰](?:가|오|주|보|두|버리)[지고는면서며]|[있없같많좋싶]어?아?도|[있없많]어서?|면서|도록|으면)$"
)
"""Endings of Korean verbs and adjectives, which no name has."""

STOP_WORDS: Mapping[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": """
            a an the this that these those
            i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
            herself it its itself they them their theirs themselves
            what which who whom whose when where why how
            am is are was were be been being have has had having do does did doing can could will would should ought
            and or but as so nor of at by for with into to from in on
            then here there just now too very
            """,
        "de": """
            der die das den dem des ein eine einen einem einer eines dieser diese dieses diesen diesem
            ich mich mir mein meine du dich dir dein deine er ihn ihm sein seine sie ihr ihre ihnen es sich wir uns
            unser unsere euch euer
            wer was wem wen wann wo warum wie welche welcher welches
            bin bist ist sind seid war waren wird werden wurde wurden worden habe hat haben hatte hatten kann können
            soll sollte
            und oder aber als dass daß so in im an am auf aus bei beim mit nach von vom zu zum zur für um
            da dann hier dort nur noch auch schon sehr
            """,
        "fr": """
            le la les un une des du de d l au aux ce cet cette ces c
            je j me m mon ma mes tu t te ton ta tes il elle on se s son sa ses nous notre nos vous votre vos ils elles
            leur leurs lui y en
            qui que qu quoi dont où quand comment pourquoi quel quelle quels quelles
            suis est sommes êtes sont était étaient être été ai a avons avez ont avait avaient avoir eu peut
            et ou mais donc or ni car à dans par pour avec sur n là ici alors très aussi
            """,
        "es": """
            el la los las un una unos unas lo al del este esta estos estas ese esa esos esas eso
            yo me mi mis tú te tu tus él ella le les se su sus nos nuestro nuestra vosotros ellos ellas usted ustedes
            qué que quién quien cuándo cuando dónde donde cómo como cuál cual por
            soy es somos son era eran ser fue fueron sido estar está están he ha hemos han había habían haber puede
            y e o u pero a de en con para aquí allí entonces muy también
            """,
        "it": """
            il lo la i gli le un uno una l d del dello della dei degli delle al allo alla ai agli alle dal dalla dai
            dalle nel nello nella nei negli nelle sul sulla sui sulle questo questa questi queste
            io mi mio mia tu ti tuo tua lui lei gli si suo sua suoi sue noi ci nostro nostra voi vi loro
            che chi cosa cui quando dove come perché quale quali
            sono sei è siamo siete era erano essere stato stata ho hai ha abbiamo hanno aveva avere può
            e ed o ma se a ad di da in con per su qui lì poi molto anche
            """,
        "pt": """
            o a os as um uma uns umas do da dos das no na nos nas ao à aos às pelo pela pelos pelas este esta estes
            estas esse essa isso
            eu me meu minha tu te teu tua ele ela lhe se seu sua seus suas nós nosso nossa vós eles elas você vocês
            que quem quando onde como por porque qual quais
            sou é somos são era eram ser foi foram sido estar está estão tenho tem temos têm tinha ter há pode
            e ou mas de em com para aqui ali então muito também
            """,
        "nl": """
            de het een deze dit die dat
            ik me mij mijn jij je jou jouw hij hem zijn zij ze haar wij we ons onze jullie u uw hun hen zich
            wie wat wanneer waar waarom hoe welke welk
            ben bent is was waren worden wordt werd geweest heb hebt heeft hebben had hadden kan kunnen zal zou
            en of maar als dus in aan op uit bij met naar van voor te om er daar hier dan zeer ook
            """,
        "sv": """
            en ett den det de denna detta dessa
            jag mig min mitt mina du dig din ditt dina han honom hans hon henne hennes vi oss vår vårt våra ni er ert
            era dem deras sig sin sitt sina
            vem vad som när var varför hur vilken vilket vilka
            är var vara varit blir blev har hade ha kan ska skulle
            och eller men att så i på av för med till från om här där då mycket också
            """,
        "ru": """
            я меня мне мной мой моя мы нас нам наш наша ты тебя тебе твой вы вас вам ваш он его ему ним она её ей ней
            оно они их им ними себя свой это этот эта эти тот та те
            кто что кого чего кому чему когда где почему как какой какая какие который которая которые
            есть быть был была было были будет будут
            и или но а же бы ли в во на с со к ко о об от до из у по за для при так там тут здесь тогда очень также
            """,
    }.items()
}
